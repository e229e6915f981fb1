// SPDX-License-Identifier: BSD-3-Clause
#include "collect.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "peers.h"

#define HEAP          4    // its number in the list of memory, the last
#define NEIGH_AT_ONCE 4096 // looked at: the table is stepped through from its start each time

bool collect_port(void *view, const struct gateway *g, unsigned int i)
{
	struct port_view *v = view;
	struct rte_eth_stats stats = {0};
	struct rte_eth_link link = {0};

	if (i >= g->control.conf->n_ports)
		return false;

	const struct port *p = &g->ports[i];
	const struct control_link *l = &g->control.links[i];

	rte_eth_stats_get(p->id, &stats);
	if (rte_eth_link_get_nowait(p->id, &link) != 0)
		link.link_speed = RTE_ETH_SPEED_NUM_UNKNOWN;
	*v = (struct port_view){
		.side = p->conf->unprotected ? "unprotected" : "protected",
		.link = l->up ? "up" : "down",
		.conf = &g->control.conf->ports[i],
		.port = &g->control.snapshot->port[i],
		.up = l->up,
		.link_changes = l->changes,
		.link_mbps = link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? 0 : link.link_speed,
		.rx_queues = p->n_rx,
		.mtu = p->conf->mtu,
		.rx_packets = stats.ipackets,
		.rx_bytes = stats.ibytes,
		.rx_missed = stats.imissed,
		.rx_no_buffer = stats.rx_nombuf,
		.rx_errors = stats.ierrors,
		.tx_packets = stats.opackets,
		.tx_bytes = stats.obytes,
		.tx_errors = stats.oerrors,
	};
	snprintf(v->name, sizeof(v->name), "%s", p->conf->name);
	snprintf(v->driver, sizeof(v->driver), "%s", p->driver);
	rte_ether_format_addr(v->mac, sizeof(v->mac), &p->mac);
	return true;
}

bool collect_worker(void *view, const struct gateway *g, unsigned int i)
{
	struct worker_view *v = view;
	if (i >= g->control.conf->n_workers)
		return false;

	const struct loop *l = g->loops[i];
	uint64_t age_ms = gateway_now_ms() - g->started_ms;
	uint64_t idle_ms = l->idle_cycles / (rte_get_tsc_hz() / 1000);

	*v = (struct worker_view){
		.worker = i,
		.cpu = g->control.conf->worker_cpus[i],
		.queues = l->n_rx,
		.idle = idle_name(&l->idle),
		.state = g->health.worker[i].stalled ? "stalled" : "running",
		.stalled = g->health.worker[i].stalled,
		.stalls = g->health.worker[i].stalls,
		.longest_round_us = l->longest_round / (rte_get_tsc_hz() / 1000000),
		.counters = l->worker->counters,
		.held = loop_held(l),
		.idle_ms = RTE_MIN(idle_ms, age_ms),
	};
	v->busy_ms = age_ms - v->idle_ms;
	v->drops = counters_drops(&v->counters);
	return true;
}

bool collect_queue(void *view, const struct gateway *g, unsigned int i)
{
	struct queue_view *v = view;
	unsigned int w = 0;

	while (w < g->control.conf->n_workers && i >= g->loops[w]->n_rx)
		i -= g->loops[w++]->n_rx;
	if (w == g->control.conf->n_workers)
		return false;

	const struct loop_queue *q = &g->loops[w]->rx[i];

	snprintf(v->port, sizeof(v->port), "%s", g->control.conf->ports[q->port].name);
	v->worker = w;
	v->queue = q->queue;
	for (unsigned int s = 0; s < LOOP_SIZES; s++)
		v->bursts[s] = q->bursts[s];
	return true;
}

bool collect_stage(void *view, const struct gateway *g, unsigned int i)
{
	struct stage_view *v = view;
	if (i >= STAGE_COUNT)
		return false;
	*v = (struct stage_view){.name = stage_info[i].name, .help = stage_info[i].help};
	for (unsigned int w = 0; w < g->control.conf->n_workers; w++) {
		const struct stage_counters *c = &g->control.workers[w]->stages.stage[i];

		v->counters.calls += c->calls;
		v->counters.packets += c->packets;
		v->counters.cycles += c->cycles;
	}
	if (v->counters.calls > 0)
		v->packets_per_call = v->counters.packets / v->counters.calls;
	if (v->counters.packets > 0)
		v->cycles_per_packet = v->counters.cycles / v->counters.packets;
	return true;
}

static void sa_view_init(struct sa_view *v, struct sa *sa, uint64_t now_ms)
{
	const struct sa_peer peer = peer_endpoint(sa);

	*v = (struct sa_view){
		.direction = sa_direction_names[sa->opt.direction],
		.mode = sa_mode_names[sa->opt.mode],
		.local = sa->opt.local,
		.local_port = rte_be_to_cpu_16(sa->udp_port),
		.remote = peer.addr,
		.remote_port = rte_be_to_cpu_16(peer.port),
		.cipher = sa->opt.cipher->name,
		.auth = sa->opt.auth->name,
		.engine = crypto_session_engine(sa->session),
		.esn = sa->opt.esn,
		.seen_ms = sa->seen_ms != 0 ? now_ms - sa->seen_ms : UINT64_MAX,
	};
	snprintf(v->name, sizeof(v->name), "%s", sa->live.name);
	snprintf(v->spi, sizeof(v->spi), "0x%08" PRIx32, rte_be_to_cpu_32(sa->spi));
	for (const struct sa_counters *c = sa->counters; c < sa->counters + sa->n_workers; c++) {
#define SA_COUNTER(name, ...) v->name += c->name;
#include "sa_counter.def"
		for (enum drop d = 1; d < DROP_COUNT; d++) {
			v->drops[d] += sa_dropped(c, d);
			v->errors += sa_dropped(c, d);
		}
	}
	sa_used(sa, now_ms, v->used);
	for (enum lifetime_unit u = 0; u < LIFETIME_UNITS; u++)
		v->left[u] = lifetime_left(&sa->lifetime, u, v->used[u]);
}

bool collect_sa(void *view, const struct gateway *g, unsigned int i)
{
	struct sa_view *v = view;
	const struct snapshot *s = g->control.snapshot;
	uint64_t now_ms = gateway_now_ms();

	if (i < s->n_sa_out) {
		struct sa_out *sa = s->sa_out[i];

		sa_view_init(v, &sa->sa, now_ms);
		v->sequence = sa_out_seq(sa);
		v->mtu = sa_out_path(sa)->mtu;
		v->path_mtu = sa_out_path(sa)->link_mtu;
		return true;
	}
	i -= s->n_sa_out;
	if (i < s->n_sa_in) {
		struct sa_in *sa = s->sa_in[i];

		sa_view_init(v, &sa->sa, now_ms);
		v->sequence = replay_top(&sa->replay);
		v->window = sa->replay.size;
		return true;
	}
	return false;
}

// The names of the SAs that a policy receives by.
static void names_in(char text[VIEW_SAS_MAX], const struct spd_policy *p)
{
	int len = 0;

	for (unsigned int i = 0; i < p->n_in; i++)
		len += snprintf(text + len, VIEW_SAS_MAX - (size_t)len, "%s%s", i > 0 ? "," : "",
			p->in[i]->sa.live.name);
}

bool collect_tunnel(void *view, const struct gateway *g, unsigned int i)
{
	struct tunnel_view *v = view;
	uint64_t now_ms = gateway_now_ms();

	if (i >= g->control.tunnels.n)
		return false;

	const struct tunnel *t = &g->control.tunnels.item[i];
	const struct tunnel_life *l = &t->life;
	const struct spd_policy *p = spd_at(g->control.snapshot->spd, t->policy);
	const struct ip_addr *probe = &g->control.conf->policies[t->policy].probe_addr;

	*v = (struct tunnel_view){
		.probe = "-",
		.probes = t->probes,
		.peer = peer_endpoint(&p->out->sa).addr,
		.state = tunnel_state_names[l->state],
		.received_ms = l->received_ms != 0 ? now_ms - l->received_ms : UINT64_MAX,
		.silent_ms = l->state == TUNNEL_SILENT ? now_ms - l->unanswered_ms : UINT64_MAX,
	};
	v->is[l->state] = 1;
	snprintf(v->name, sizeof(v->name), "%s", p->name);
	snprintf(v->out, sizeof(v->out), "%s", p->out->sa.live.name);
	names_in(v->in, p);
	if (!ip_addr_is_none(probe))
		ip_addr_format(v->probe, probe);
	return true;
}

bool collect_policy(void *view, const struct gateway *g, unsigned int i)
{
	const struct snapshot *s = g->control.snapshot;
	struct policy_view *v = view;

	if (i >= spd_count(s->spd))
		return false;

	const struct spd_policy *p = spd_at(s->spd, i);

	*v = (struct policy_view){
		.action = spd_action_names[p->action],
		.out = p->out != NULL ? p->out->sa.live.name : "",
		.local = {p->local, p->family, p->proto, p->local_port},
		.remote = {p->remote, p->family, p->proto, p->remote_port},
		.did = decisions_sum(s->policy_decisions, i),
	};
	snprintf(v->name, sizeof(v->name), "%s", p->name);
	names_in(v->in, p);
	return true;
}

static const char *rule_port(const struct snapshot *s, uint32_t port)
{
	return port == CLASSIFIER_ANY ? "any" : s->port[port].name;
}

// The fallback matches whatever the rules do not.
static const struct end_view any_end = {
	.family = IP_ANY, .proto = CLASSIFIER_PROTO_ANY, .ports = {0, ACL_PORT_OPAQUE}};

bool collect_rule(void *view, const struct gateway *g, unsigned int i)
{
	const struct snapshot *s = g->control.snapshot;
	struct rule_view *v = view;

	if (i >= rule_set_count(s->rules))
		return false;

	const struct rule *r = rule_set_at(s->rules, i);
	bool last = i + 1 == rule_set_count(s->rules);
	unsigned int states = last ? UINT_MAX : r->states;

	*v = (struct rule_view){
		.action = rule_action_names[r->action],
		.log = r->log,
		.in = rule_port(s, last ? CLASSIFIER_ANY : r->in),
		.out = rule_port(s, last ? CLASSIFIER_ANY : r->out),
		.tunnel = last ? "" : g->control.conf->rules[i].tunnel,
		.source = last ? any_end
			       : (struct end_view){r->source, r->family, r->proto, r->source_port},
		.destination = last ? any_end
				    : (struct end_view){r->destination, r->family, r->proto,
					      r->destination_port},
		.did = decisions_sum(s->rule_decisions, i),
	};
	snprintf(v->name, sizeof(v->name), "%s", r->name);
	for (unsigned int k = 0; k < RULE_STATES; k++)
		if ((states & 1u << k) != 0) {
			strcat(v->states, v->states[0] != '\0' ? "," : "");
			strcat(v->states, rule_state_names[k]);
		}
	return true;
}

static struct rte_malloc_socket_stats heap_sum(void)
{
	struct rte_malloc_socket_stats sum = {0}, s;

	for (int socket = 0; socket < RTE_MAX_NUMA_NODES; socket++)
		if (rte_malloc_get_socket_stats(socket, &s) == 0) {
			sum.heap_totalsz_bytes += s.heap_totalsz_bytes;
			sum.heap_allocsz_bytes += s.heap_allocsz_bytes;
		}
	return sum;
}

static struct memory_view heap_view(void)
{
	const struct rte_malloc_socket_stats heap = heap_sum();

	return (struct memory_view){"heap", "bytes of DPDK's memory", "memory.size",
		heap.heap_allocsz_bytes, heap.heap_totalsz_bytes, UINT64_MAX, UINT64_MAX};
}

static struct memory_view pool_view(
	const struct rte_mempool *pool, const char *name, const char *what, const char *setting)
{
	return (struct memory_view){.name = name,
		.what = what,
		.setting = setting,
		.used = rte_mempool_in_use_count(pool),
		.size = pool->size};
}

static void count_neighbours(uint64_t count[NEIGH_STATES], const struct gateway *g)
{
	static struct neigh_view views[NEIGH_AT_ONCE]; // the gateway's lock is held
	unsigned int n, seen = 0;

	memset(count, 0, NEIGH_STATES * sizeof(count[0]));
	do {
		n = neigh_list(g->control.neigh, views, NEIGH_AT_ONCE, seen, gateway_now_ms());
		for (unsigned int i = 0; i < n; i++)
			count[views[i].state]++;
		seen += n;
	} while (n == NEIGH_AT_ONCE);
}

static struct memory_view neighbour_view(const struct gateway *g)
{
	struct memory_view v = {.name = "neighbours",
		.what = "entries of the neighbour table",
		.setting = "neighbour_table.max",
		.size = g->control.conf->neighbours_max};
	uint64_t count[NEIGH_STATES];

	count_neighbours(count, g);
	for (unsigned int i = 0; i < NEIGH_STATES; i++)
		v.used += count[i];
	return v;
}

static bool memory_view_fill(struct memory_view *v, const struct gateway *g, unsigned int i)
{
	switch (i) {
	case 0:
		*v = pool_view(
			g->control.pool, "packets", "packet buffers", "memory.packet_buffers");
		return true;
	case 1:
		*v = pool_view(g->large_pool, "reassembled", "buffers for reassembled packets",
			"cpus.workers");
		return true;
	case 2:
		*v = (struct memory_view){.name = "flows",
			.what = "entries of the flow table",
			.setting = "flows.max",
			.used = flow_count(g->control.flows),
			.size = g->control.conf->flows_max};
		return true;
	case 3:
		*v = neighbour_view(g);
		return true;
	default:
		return false;
	}
}

bool collect_memory(void *view, const struct gateway *g, unsigned int i)
{
	struct memory_view *v = view;

	if (memory_view_fill(v, g, i)) {
		v->entries_used = v->used;
		v->entries = v->size;
		return true;
	}
	if (i != HEAP)
		return false;
	*v = heap_view();
	return true;
}

bool collect_total(void *view, const struct gateway *g, unsigned int i)
{
	struct total_view *v = view;

	if (i > 0)
		return false;

	const struct rte_malloc_socket_stats heap = heap_sum();

	*v = (struct total_view){
		.counters = gateway_counters(g),
		.held = gateway_held(g),
		.buffers = g->control.pool->size,
		.buffers_in_use = rte_mempool_in_use_count(g->control.pool),
		.buffers_free_min = g->health.buffers_free_min,
		.flows = flow_count(g->control.flows),
		.flows_max = g->control.conf->flows_max,
		.heap_used = heap.heap_allocsz_bytes,
		.heap_size = heap.heap_totalsz_bytes,
	};
	v->drops = counters_drops(&v->counters);
	flow_counters_sum(g->control.flows, &v->flow);
	count_neighbours(v->neighbours, g);
	return true;
}

bool collect_info(void *view, const struct gateway *g, unsigned int i)
{
	struct info_view *v = view;

	*v = (struct info_view){
		.instance = g->control.conf->instance,
		.version = CULVERT_VERSION,
		.config = g->conf_path,
		.pid = (uint64_t)getpid(),
		.uptime_s = (gateway_now_ms() - g->started_ms) / 1000,
		.generation = g->control.snapshot->generation,
		.workers = g->control.conf->n_workers,
	};
	return i == 0;
}

bool collect_route(void *view, const struct gateway *g, unsigned int i)
{
	static const char *const kind[] = {
		[NEXTHOP_CONNECTED] = "connected",
		[NEXTHOP_GATEWAY] = "gateway",
		[NEXTHOP_LOCAL] = "local",
		[NEXTHOP_NOT_UNICAST] = "never",
	};
	const struct snapshot *s = g->control.snapshot;
	struct route_view *v = view;

	if (i >= route_count(s->routes))
		return false;

	const struct route *r = route_at(s->routes, i);
	const struct nexthop *nh = &r->nexthop;

	*v = (struct route_view){
		.to = r->to,
		.kind = kind[nh->kind],
		.port = nh->kind == NEXTHOP_NOT_UNICAST ? "" : s->port[nh->port].name,
	};
	if (nh->kind == NEXTHOP_GATEWAY)
		ip_addr_format(v->via, &nh->gateway);
	return true;
}

bool collect_neighbour(void *view, const struct gateway *g, unsigned int i)
{
	struct neighbour_view *v = view;
	struct neigh_view n;

	if (neigh_list(g->control.neigh, &n, 1, i, gateway_now_ms()) == 0)
		return false;
	*v = (struct neighbour_view){
		.addr = n.addr,
		.port = g->control.conf->ports[n.port].name,
		.state = neigh_state_name(n.state),
		.age_s = n.age_s,
	};
	if (!rte_is_zero_ether_addr(&n.mac))
		rte_ether_format_addr(v->mac, sizeof(v->mac), &n.mac);
	return true;
}

bool collect_drop(void *view, const struct gateway *g, unsigned int i)
{
	const enum drop d = (enum drop)(i + 1);
	struct drop_view *v = view;

	if (d >= DROP_COUNT)
		return false;
	*v = (struct drop_view){drop_info[d].name, drop_info[d].help, gateway_counters(g).drops[d]};
	return true;
}
