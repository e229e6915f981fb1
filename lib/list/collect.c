// SPDX-License-Identifier: BSD-3-Clause
#include "collect.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_malloc.h>

#include "conf_change.h"
#include "flow_export.h"
#include "ike_tables.h"
#include "peers.h"
#include "revisions.h"
#include "tunnel_state.h"

#define NEIGH_AT_ONCE 4096 // copied: the table is stepped through from its start each time

static void counters_add(struct counters *sum, const struct counters *c)
{
	const uint64_t *from = (const uint64_t *)c;
	uint64_t *to = (uint64_t *)sum;

	for (unsigned int i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += from[i];
}

struct counters collect_counters(const struct control *c)
{
	const struct counters others = c->io->counters(c->io_arg);
	struct counters sum = c->counters;

	counters_add(&sum, &others);
	for (unsigned int w = 0; w < c->conf->n_workers; w++)
		counters_add(&sum, &c->workers[w]->counters);
	return sum;
}

uint64_t counters_drops(const struct counters *c)
{
	uint64_t sum = 0;

	for (int d = 0; d < DROP_COUNT; d++)
		sum += c->drops[d];
	return sum;
}

bool collect_stages(void *view, const struct control *c, unsigned int i)
{
	struct stages_view *v = view;
	if (i >= STAGE_COUNT)
		return false;
	*v = (struct stages_view){.name = stage_info[i].name, .help = stage_info[i].help};
	for (unsigned int w = 0; w < c->conf->n_workers; w++) {
		const struct stage_counters *n = &c->workers[w]->stages.stage[i];

		v->counters.calls += n->calls;
		v->counters.packets += n->packets;
		v->counters.cycles += n->cycles;
	}
	if (v->counters.calls > 0)
		v->packets_per_call = v->counters.packets / v->counters.calls;
	if (v->counters.packets > 0)
		v->cycles_per_packet = v->counters.cycles / v->counters.packets;
	return true;
}

// The treatment of headers. Transport mode leaves them as they are.
static void sa_headers_collect(struct sas_view *v, const struct sa_options *opt)
{
	bool tunnel = opt->mode == SA_TUNNEL;

	v->ecn = tunnel && opt->ecn;
	v->df = tunnel && opt->direction == SA_OUT ? sa_df_names[opt->df] : "-";
	v->tfc_dummies = opt->tfc_dummies;
	strcpy(v->dscp, "-");
	strcpy(v->tfc, "-");
	if (tunnel)
		sa_dscp_format(v->dscp, opt->dscp);
	if (opt->tfc_pad != 0)
		sa_tfc_pad_format(v->tfc, opt->tfc_pad);
}

static void sa_view_init(struct sas_view *v, struct sa *sa, uint64_t now_ms)
{
	const struct sa_peer peer = peer_endpoint(sa);

	*v = (struct sas_view){
		.direction = sa_direction_names[sa->opt.direction],
		.mode = sa_mode_names[sa->opt.mode],
		.local = sa->opt.local,
		.local_port = rte_be_to_cpu_16(sa->udp_port),
		.remote = peer.addr,
		.remote_port = rte_be_to_cpu_16(peer.port),
		.cipher = sa->opt.cipher->name,
		.auth = sa->opt.auth->name,
		.engine = crypto_session_engine(sa->per_packet.session),
		.esn = sa->opt.esn,
		.seen_ms = sa->seen_ms != 0 ? now_ms - sa->seen_ms : UINT64_MAX,
	};
	sa_headers_collect(v, &sa->opt);
	snprintf(v->name, sizeof(v->name), "%s", sa->live.name);
	snprintf(v->spi, sizeof(v->spi), "0x%08" PRIx32, rte_be_to_cpu_32(sa->spi));
	for (unsigned int i = 0; i < sa->n_workers; i++) {
		const struct sa_per_worker *c = &sa->per_worker[i];

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

static void sa_collect(struct sas_view *v, struct sa *sa, const struct control *c)
{
	sa_view_init(v, sa, c->io->now_ms());
	if (sa->opt.direction == SA_OUT) {
		const struct sa_out *out = sa_out_of(sa);

		v->sequence = sa_out_seq(out);
		v->mtu = sa_out_path(out)->mtu;
		v->path_mtu = sa_out_path(out)->link_mtu;
	} else {
		v->sequence = replay_top(&sa->per_packet.replay);
		v->window = sa->per_packet.replay.size;
	}
}

bool collect_sas(void *view, const struct control *c, unsigned int i)
{
	struct sa *sa = sa_list_at(&c->snapshot->objects->sas, i);

	if (sa != NULL)
		sa_collect(view, sa, c);
	return sa != NULL;
}

bool collect_ike_sa(struct sas_view *v, const struct control *c, const char *name)
{
	const struct ike_sa *o = ike_sa_find(c, name);

	if (o != NULL)
		sa_collect(v, ike_sa_get(o), c);
	return o != NULL;
}

// The names of the SAs that a policy receives by: of IKE, the newest ones.
static void names_in(char text[VIEW_SAS_MAX], const struct control *c, const struct spd_policy *p)
{
	const struct sa_in *in;
	int len = 0;

	for (unsigned int i = 0; i < SPD_IN_MAX && (in = policy_receiver(c, p, i)) != NULL; i++)
		len += snprintf(text + len, VIEW_SAS_MAX - (size_t)len, "%s%s", i > 0 ? "," : "",
			in->sa.live.name);
}

const struct tunnel *collect_tunnel(
	const struct control *c, unsigned int i, const struct spd_policy **p)
{
	if (i >= c->tunnels.n)
		return ike_tunnel(c, i - c->tunnels.n, p);
	*p = spd_at(c->snapshot->spd, c->tunnels.item[i].policy);
	return &c->tunnels.item[i];
}

uint64_t collect_tunnel_states(uint64_t count[TUNNEL_STATES], const struct control *c)
{
	const struct spd_policy *p;
	const struct tunnel *t;
	unsigned int n;

	memset(count, 0, TUNNEL_STATES * sizeof(count[0]));
	for (n = 0; (t = collect_tunnel(c, n, &p)) != NULL; n++)
		count[t->state]++;
	return n;
}

static void tunnel_host_fill(
	struct tunnels_view *v, const struct control *c, const struct spd_policy *p)
{
	const struct nexthop *host = c->snapshot->iface[p->iface].host;
	const struct control_host *h;

	v->to_host = v->from_host = UINT64_MAX;
	if (!spd_policy_is_routed(p) || host == NULL)
		return;
	h = &c->hosts[host->iface - IFACE_HOST(0)];
	snprintf(v->host, sizeof(v->host), "%s", h->name);
	v->host_state = h->state;
	v->to_host = h->to;
	v->from_host = h->from;
}

bool collect_tunnels(void *view, const struct control *c, unsigned int i)
{
	struct tunnels_view *v = view;
	uint64_t now_ms = c->io->now_ms();

	const struct ip_addr *probe;
	const struct spd_policy *p;
	const struct tunnel *t = collect_tunnel(c, i, &p);

	if (t == NULL)
		return false;
	probe = i < c->tunnels.n ? &tunnel_probe(c, t)->addr : NULL;

	const struct tunnel_life *l = &t->life;
	const struct sa_out *out = p->out;

	*v = (struct tunnels_view){
		.probe = "-",
		.probes = t->probes,
		.state = tunnel_state_names[t->state],
		.reason = t->state == TUNNEL_FAILING ? drop_info[t->reason].name
						     : tunnel_down_names[t->down],
		.received_ms = l->received_ms != 0 ? now_ms - l->received_ms : UINT64_MAX,
		.silent_ms = t->state == TUNNEL_SILENT ? now_ms - l->unanswered_ms : UINT64_MAX,
	};
	v->is[t->state] = 1;
	snprintf(v->name, sizeof(v->name), "%s", p->name);
	if (out != NULL) {
		v->peer = peer_endpoint(&out->sa).addr;
		snprintf(v->out, sizeof(v->out), "%s", out->sa.live.name);
	}
	names_in(v->in, c, p);
	tunnel_host_fill(v, c, p);
	if (probe != NULL && !ip_addr_is_none(probe))
		ip_addr_format(v->probe, probe);
	return true;
}

// Lists and aliases of a policy of the configuration.
static void texts_fill(struct policies_view *v, const struct conf_policy *conf)
{
	v->local.prefixes = &conf->local;
	v->local.prefix_text = conf->local.text;
	v->local.proto_text = conf->proto.text;
	v->local.ports_text = conf->local_port.text;
	v->remote.prefixes = &conf->remote;
	v->remote.prefix_text = conf->remote.text;
	v->remote.ports_text = conf->remote_port.text;
}

bool collect_policies(void *view, const struct control *c, unsigned int i)
{
	const struct snapshot *s = c->snapshot;
	struct policies_view *v = view;

	const struct spd_policy *p = snapshot_policy_at(s, i);

	if (p == NULL)
		return false;

	const struct sa_out *out = p->out;

	*v = (struct policies_view){
		.action = spd_action_names[p->action],
		.out = out != NULL ? out->sa.live.name : "",
		.local = {.prefix = p->local,
			.family = p->family,
			.proto = p->proto,
			.ports = p->local_port},
		.remote = {.prefix = p->remote,
			.family = p->family,
			.proto = p->proto,
			.ports = p->remote_port},
		.did = decisions_sum(s->objects->decisions[DECIDER_POLICY], p->number),
	};
	snprintf(v->name, sizeof(v->name), "%s", p->name);
	if (p->number <= SPD_MAX)
		texts_fill(v, &c->conf->policies[spd_place(s->spd, p)]);
	names_in(v->in, c, p);
	return true;
}

void collect_neighbour_of(
	struct neighbours_view *v, const struct control *c, const struct neigh_view *n)
{
	*v = (struct neighbours_view){
		.addr = n->addr,
		.port = c->conf->ports[n->port].name,
		.state = neigh_state_name(n->state),
		.age_s = n->age_s,
	};
	if (!rte_is_zero_ether_addr(&n->mac))
		rte_ether_format_addr(v->mac, sizeof(v->mac), &n->mac);
}

bool collect_neighbours(void *view, const struct control *c, unsigned int i)
{
	struct neigh_view n;

	if (neigh_list(c->neigh, &n, 1, i, c->io->now_ms()) == 0)
		return false;
	collect_neighbour_of(view, c, &n);
	return true;
}

bool collect_drops(void *view, const struct control *c, unsigned int i)
{
	const enum drop d = (enum drop)(i + 1);
	struct drops_view *v = view;

	if (d >= DROP_COUNT)
		return false;
	*v = (struct drops_view){.name = drop_info[d].name,
		.help = drop_info[d].help,
		.packets = collect_counters(c).drops[d]};
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

static void count_neighbours(uint64_t count[NEIGH_STATES], const struct control *c)
{
	static struct neigh_view views[NEIGH_AT_ONCE]; // the gateway's lock is held
	unsigned int n, seen = 0;

	memset(count, 0, NEIGH_STATES * sizeof(count[0]));
	do {
		n = neigh_list(c->neigh, views, NEIGH_AT_ONCE, seen, c->io->now_ms());
		for (unsigned int i = 0; i < n; i++)
			count[views[i].state]++;
		seen += n;
	} while (n == NEIGH_AT_ONCE);
}

static uint64_t neighbours_sum(const struct control *c)
{
	uint64_t count[NEIGH_STATES], sum = 0;

	count_neighbours(count, c);
	for (unsigned int i = 0; i < NEIGH_STATES; i++)
		sum += count[i];
	return sum;
}

bool collect_memory(void *view, const struct control *c, unsigned int i)
{
	enum { PACKETS, REASSEMBLED, FLOWS, NEIGHBOURS, HEAP, ROWS };
	static const struct {
		const char *name, *what, *setting;
	} rows[ROWS] = {
		[PACKETS] = {"packets", "packet buffers", "memory.packet_buffers"},
		[REASSEMBLED] = {"reassembled", "buffers for reassembled packets", "cpus.workers"},
		[FLOWS] = {"flows", "entries of the flow table", "flows.max"},
		[NEIGHBOURS] = {"neighbours", "entries of the neighbour table",
			"neighbour_table.max"},
		[HEAP] = {"heap", "bytes of DPDK's memory", "memory.size"},
	};
	struct rte_malloc_socket_stats heap;
	struct memory_view *v = view;

	if (i >= ROWS)
		return false;
	*v = (struct memory_view){
		.name = rows[i].name, .what = rows[i].what, .setting = rows[i].setting};
	if (i == PACKETS || i == REASSEMBLED) {
		const struct rte_mempool *pool = i == PACKETS ? c->pool : c->large_pool;

		v->used = rte_mempool_in_use_count(pool);
		v->size = pool->size;
	} else if (i == FLOWS) {
		v->used = flow_count(c->flows);
		v->size = c->conf->flows_max;
	} else if (i == NEIGHBOURS) {
		v->used = neighbours_sum(c);
		v->size = c->conf->neighbours_max;
	} else {
		heap = heap_sum();
		v->used = heap.heap_allocsz_bytes;
		v->size = heap.heap_totalsz_bytes;
	}
	v->entries_used = i == HEAP ? UINT64_MAX : v->used;
	v->entries = i == HEAP ? UINT64_MAX : v->size;
	return true;
}

bool collect_totals(void *view, const struct control *c, unsigned int i)
{
	struct totals_view *v = view;

	if (i > 0)
		return false;

	const struct rte_malloc_socket_stats heap = heap_sum();

	*v = (struct totals_view){
		.counters = collect_counters(c),
		.held = c->io->held(c->io_arg),
		.buffers = c->pool->size,
		.buffers_in_use = rte_mempool_in_use_count(c->pool),
		.buffers_free_min = c->health.buffers_free_min,
		.flows = flow_count(c->flows),
		.flows_max = c->conf->flows_max,
		.heap_used = heap.heap_allocsz_bytes,
		.heap_size = heap.heap_totalsz_bytes,
	};
	v->drops = counters_drops(&v->counters);
	flow_counters_sum(c->flows, &v->flow);
	v->exported = flow_export_counts(c).records;
	v->export_lost = flow_export_counts(c).not_sent + v->flow.records_lost;
	v->bindings = v->flow.bindings - RTE_MIN(v->flow.bindings, v->flow.bindings_ended);
	count_neighbours(v->neighbours, c);
	v->tunnels = collect_tunnel_states(v->tunnels_in, c);
	event_log_counts(v->events);
	return true;
}

bool collect_info(void *view, const struct control *c, unsigned int i)
{
	struct info_view *v = view;

	*v = (struct info_view){
		.instance = c->conf->instance,
		.version = c->version,
		.config = c->conf_path,
		.pid = (uint64_t)getpid(),
		.uptime_s = (c->io->now_ms() - c->started_ms) / 1000,
		.generation = c->snapshot->generation,
		.workers = c->conf->n_workers,
		.unsaved = conf_unsaved_count(c->conf),
		.refused_ms =
			c->refusal.at_ms != 0 ? c->io->now_ms() - c->refusal.at_ms : UINT64_MAX,
		.revision = revisions_last(c),
		.unconfirmed = revisions_unconfirmed(c),
		.confirm_ms = revisions_left_ms(c),
		.history_error = revisions_error(c),
	};
	strcpy(v->refused, c->refusal.why);
	return i == 0;
}
