// SPDX-License-Identifier: BSD-3-Clause
#include "telemetry.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_telemetry.h>

#include "telemetry_add.h"
#include "telemetry_flow.h"
#include "telemetry_policy.h"

// Items in one answer. Those that do not fit the 16 KB of an answer of librte_telemetry are left
// out; they are asked for again, since items are numbered.
#define PAGE 64

#define LINK_LOCAL_LEN 64

static struct gateway *gateway;                          // NULL while there is nothing to show
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of the pointer

// Writes item number i of a list. False behind the last.
typedef bool (*item_fn)(struct rte_tel_data *d, const struct gateway *g, unsigned int i);
// Writes the items from number offset on that match the filter, and takes the gateway's lock.
typedef void (*page_fn)(
	struct rte_tel_data *d, struct gateway *g, unsigned int offset, const char *filter);

static void add_mac(struct rte_tel_data *d, const char *name, const struct rte_ether_addr *mac)
{
	char text[RTE_ETHER_ADDR_FMT_SIZE];

	rte_ether_format_addr(text, sizeof(text), mac);
	add_string(d, name, text);
}

// Addresses with the length of their network's prefix; behind those of the configuration the
// link-local one that the port has by itself.
static void add_addresses(
	struct rte_tel_data *d, const struct conf_port *c, const struct snapshot_port *s)
{
	struct rte_tel_data *list = rte_tel_data_alloc();
	char text[IP_PREFIX_STRLEN];

	if (list == NULL)
		return;
	rte_tel_data_start_array(list, RTE_TEL_STRING_VAL);
	for (unsigned int a = 0; a < c->n_addrs; a++) {
		struct ip_prefix p = {.addr = c->addrs[a].addr, .len = c->addrs[a].net.len};

		rte_tel_data_add_array_string(list, ip_prefix_format(text, &p));
	}
	for (unsigned int a = c->n_addrs; a < s->n_addrs; a++) {
		struct ip_prefix p = {.addr = s->addrs[a], .len = LINK_LOCAL_LEN};

		rte_tel_data_add_array_string(list, ip_prefix_format(text, &p));
	}
	rte_tel_data_add_dict_container(d, "addresses", list, 0);
}

static bool port_item(struct rte_tel_data *d, const struct gateway *g, unsigned int i)
{
	if (i >= g->conf->n_ports)
		return false;

	const struct port *p = &g->ports[i];
	const struct conf_port *c = p->conf;
	struct rte_eth_stats stats = {0};

	rte_eth_stats_get(p->id, &stats);
	add_string(d, "name", c->name);
	add_string(d, "driver", p->driver);
	add_string(d, "side", c->unprotected ? "unprotected" : "protected");
	add_mac(d, "mac", &p->mac);
	add_addresses(d, c, &g->snapshot->port[i]);
	add_u64(d, "mtu", c->mtu);
	add_string(d, "link", p->link_up ? "up" : "down");
	add_u64(d, "link_changes", p->link_changes);
	add_u64(d, "rx_queues", p->n_rx);
	add_u64(d, "rx_packets", stats.ipackets);
	add_u64(d, "rx_bytes", stats.ibytes);
	add_u64(d, "rx_missed", stats.imissed);
	add_u64(d, "rx_no_buffer", stats.rx_nombuf);
	add_u64(d, "rx_errors", stats.ierrors);
	add_u64(d, "tx_packets", stats.opackets);
	add_u64(d, "tx_bytes", stats.obytes);
	add_u64(d, "tx_errors", stats.oerrors);
	return true;
}

static void sa_common(struct rte_tel_data *d, const struct sa *sa, const char *direction)
{
	char spi[16];

	snprintf(spi, sizeof(spi), "0x%08" PRIx32, rte_be_to_cpu_32(sa->spi));
	add_string(d, "name", sa->name);
	add_string(d, "direction", direction);
	add_string(d, "spi", spi);
	add_addr(d, "local", &sa->local);
	add_addr(d, "remote", &sa->remote);
	add_string(d, "cipher", sa->cipher->name);
	add_string(d, "auth", sa->auth->name);
	add_string(d, "esn", sa->esn ? "yes" : "no");
	add_string(d, "engine", crypto_session_engine(sa->session));
}

static void sa_counted(struct rte_tel_data *d, const struct sa *sa)
{
	uint64_t packets = 0, bytes = 0, errors = 0;

	for (unsigned int w = 0; w < sa->n_workers; w++) {
		packets += sa->counters[w].packets;
		bytes += sa->counters[w].bytes;
		for (int r = 0; r < DROP_COUNT; r++)
			errors += sa->counters[w].drops[r];
	}
	add_u64(d, "packets", packets);
	add_u64(d, "bytes", bytes);
	add_u64(d, "errors", errors);
}

// What is left of the hard lifetime. Those that nobody gets to see the end of count as none.
static void sa_lifetime(
	struct rte_tel_data *d, const struct sa *sa, const uint64_t used[LIFETIME_UNITS])
{
	for (enum lifetime_unit u = 0; u < LIFETIME_UNITS; u++) {
		uint64_t left = lifetime_left(&sa->lifetime, u, used[u]);
		char name[32], text[32] = "-";

		snprintf(name, sizeof(name), "%s_left", lifetime_unit_names[u]);
		if (left <= INT64_MAX)
			snprintf(text, sizeof(text), "%" PRIu64, left);
		add_string(d, name, text);
	}
}

// The outbound ones first.
static bool sa_item(struct rte_tel_data *d, const struct gateway *g, unsigned int i)
{
	const struct snapshot *s = g->snapshot;
	uint64_t used[LIFETIME_UNITS];

	if (i < s->n_sa_out) {
		struct sa_out *sa = s->sa_out[i];

		sa_common(d, &sa->sa, "out");
		add_u64(d, "sequence", RTE_MIN(sa->seq, sa->seq_max));
		add_u64(d, "window", 0);
		add_u64(d, "mtu", sa_out_path(sa)->mtu);
		sa_counted(d, &sa->sa);
		sa_out_used(sa, gateway_now_ms(), used);
		sa_lifetime(d, &sa->sa, used);
		return true;
	}
	i -= s->n_sa_out;
	if (i < s->n_sa_in) {
		struct sa_in *sa = s->sa_in[i];

		sa_common(d, &sa->sa, "in");
		add_u64(d, "sequence", replay_top(&sa->replay));
		add_u64(d, "window", sa->replay.size);
		add_u64(d, "mtu", 0);
		sa_counted(d, &sa->sa);
		sa_in_used(sa, gateway_now_ms(), used);
		sa_lifetime(d, &sa->sa, used);
		return true;
	}
	return false;
}

static bool route_item(struct rte_tel_data *d, const struct gateway *g, unsigned int i)
{
	static const char *const kind[] = {
		[NEXTHOP_CONNECTED] = "connected",
		[NEXTHOP_GATEWAY] = "gateway",
		[NEXTHOP_LOCAL] = "local",
		[NEXTHOP_NOT_UNICAST] = "never",
	};
	const struct snapshot *s = g->snapshot;

	if (i >= route_count(s->routes))
		return false;

	const struct route *r = route_at(s->routes, i);
	const struct nexthop *nh = &r->nexthop;
	char via[IP_ADDR_STRLEN] = "";

	if (nh->kind == NEXTHOP_GATEWAY)
		ip_addr_format(via, &nh->gateway);
	add_prefix(d, "to", &r->to);
	add_string(d, "kind", kind[nh->kind]);
	add_string(d, "via", via);
	add_string(d, "port", nh->kind == NEXTHOP_NOT_UNICAST ? "" : s->port[nh->port].name);
	return true;
}

static bool neighbour_item(struct rte_tel_data *d, const struct gateway *g, unsigned int i)
{
	struct neigh_view n;

	if (neigh_list(g->neigh, &n, 1, i, gateway_now_ms()) == 0)
		return false;
	add_addr(d, "address", &n.addr);
	add_string(d, "port", g->conf->ports[n.port].name);
	if (rte_is_zero_ether_addr(&n.mac))
		add_string(d, "mac", "");
	else
		add_mac(d, "mac", &n.mac);
	add_string(d, "state", neigh_state_name(n.state));
	add_u64(d, "age_s", n.age_s);
	return true;
}

static bool drop_item(struct rte_tel_data *d, const struct gateway *g, unsigned int i)
{
	if (i + 1 >= DROP_COUNT)
		return false;
	add_string(d, "reason", drop_info[i + 1].name);
	add_u64(d, "packets", gateway_counters(g).drops[i + 1]);
	add_string(d, "help", drop_info[i + 1].help);
	return true;
}

static void counters_add(struct rte_tel_data *d, const struct counters *c, uint64_t held)
{
	add_u64(d, "rx", c->rx);
	add_u64(d, "originated", c->originated);
	add_u64(d, "tx", c->tx);
	add_u64(d, "drops", counters_drops(c));
	add_u64(d, "local", c->local);
	add_u64(d, "held", held);
	add_u64(d, "errors_suppressed", c->errors_suppressed);
}

// Of all workers, from the passes that were measured.
static bool stage_item(struct rte_tel_data *d, const struct gateway *g, unsigned int i)
{
	struct stage_counters sum = {0};

	if (i >= STAGE_COUNT)
		return false;
	for (unsigned int w = 0; w < g->conf->n_workers; w++) {
		const struct stage_counters *c = &g->loops[w]->worker->stages.stage[i];

		sum.calls += c->calls;
		sum.packets += c->packets;
		sum.cycles += c->cycles;
	}
	add_string(d, "stage", stage_info[i].name);
	add_u64(d, "calls", sum.calls);
	add_u64(d, "packets", sum.packets);
	add_u64(d, "packets_per_call", sum.calls > 0 ? sum.packets / sum.calls : 0);
	add_u64(d, "cycles_per_packet", sum.packets > 0 ? sum.cycles / sum.packets : 0);
	add_string(d, "help", stage_info[i].help);
	return true;
}

// The queues of all workers, one behind the other.
static bool queue_item(struct rte_tel_data *d, const struct gateway *g, unsigned int i)
{
	static const char *const sizes[LOOP_SIZES] = {
		"bursts_1", "bursts_2", "bursts_4", "bursts_8", "bursts_16", "bursts_32"};
	unsigned int w = 0;

	while (w < g->conf->n_workers && i >= g->loops[w]->n_rx)
		i -= g->loops[w++]->n_rx;
	if (w == g->conf->n_workers)
		return false;

	const struct loop_queue *q = &g->loops[w]->rx[i];

	add_string(d, "port", g->conf->ports[q->port].name);
	add_u64(d, "queue", q->queue);
	add_u64(d, "worker", w);
	for (unsigned int s = 0; s < LOOP_SIZES; s++)
		add_u64(d, sizes[s], q->bursts[s]);
	return true;
}

static bool worker_item(struct rte_tel_data *d, const struct gateway *g, unsigned int i)
{
	if (i >= g->conf->n_workers)
		return false;

	const struct loop *l = g->loops[i];

	add_u64(d, "worker", i);
	add_u64(d, "cpu", g->conf->worker_cpus[i]);
	add_string(d, "state", g->health.worker[i].stalled ? "stalled" : "running");
	add_u64(d, "stalls", g->health.worker[i].stalls);
	add_u64(d, "queues", l->n_rx);
	add_u64(d, "passes", l->worker->counters.passes);
	counters_add(d, &l->worker->counters, loop_held(l));
	return true;
}

static bool totals_item(struct rte_tel_data *d, const struct gateway *g, unsigned int i)
{
	struct counters sum = gateway_counters(g);
	struct flow_counters flows;

	if (i > 0)
		return false;
	counters_add(d, &sum, gateway_held(g));
	add_u64(d, "buffers_total", g->pool->size);
	add_u64(d, "buffers_in_use", rte_mempool_in_use_count(g->pool));
	add_u64(d, "buffers_free_min", g->health.buffers_free_min);
	flow_counters_sum(g->flows, &flows);
	add_u64(d, "flows", flow_count(g->flows));
	add_u64(d, "flows_max", g->conf->flows_max);
	add_u64(d, "flows_created", flows.created);
	add_u64(d, "flows_expired", flows.expired);
	add_u64(d, "flows_evicted", flows.evicted);
	return true;
}

static bool info_item(struct rte_tel_data *d, const struct gateway *g, unsigned int i)
{
	if (i > 0)
		return false;
	add_string(d, "instance", g->conf->instance);
	add_string(d, "version", CULVERT_VERSION);
	add_u64(d, "pid", (uint64_t)getpid());
	add_u64(d, "uptime_s", (gateway_now_ms() - g->started_ms) / 1000);
	add_string(d, "config", g->conf_path);
	add_u64(d, "generation", g->snapshot->generation);
	add_u64(d, "workers", g->conf->n_workers);
	return true;
}

static const struct command {
	const char *name;
	const char *help;
	item_fn item; // either this, or
	page_fn page;
} commands[] = {
	{"/culvert/drops", "Dropped packets by reason", drop_item, NULL},
	{"/culvert/flow_flush", "Removes flows. Parameters: 0 and filters as of flows", NULL,
		flow_flush_page},
	{"/culvert/flows",
		"Flows. Parameters: number of the first; address=, port=, proto=, state=, sa=",
		NULL, flow_page},
	{"/culvert/info", "The daemon itself", info_item, NULL},
	{"/culvert/neighbours", "Neighbour table", neighbour_item, NULL},
	{"/culvert/policies",
		"Security policies, in order. asked: packets decided, mostly the first of a flow "
		"each way",
		policy_item, NULL},
	{"/culvert/ports", "Ports", port_item, NULL},
	{"/culvert/queues", "Receive queues: bursts by size, that many frames up to the next size",
		queue_item, NULL},
	{"/culvert/routes", "Routes", route_item, NULL},
	{"/culvert/rules",
		"Firewall rules, in order. asked: packets decided, mostly the first of a flow each "
		"way",
		rule_item, NULL},
	{"/culvert/sas", "Security associations", sa_item, NULL},
	{"/culvert/totals", "Packets in, out and between, packet buffers, flows", totals_item,
		NULL},
	{"/culvert/stages", "What the stages of a pass cost, from one pass in 1024", stage_item,
		NULL},
	{"/culvert/workers", "Worker threads", worker_item, NULL},
};

static void page(struct rte_tel_data *d, struct gateway *g, item_fn item, unsigned int offset)
{
	pthread_mutex_lock(&g->lock);
	for (unsigned int i = 0; i < PAGE; i++) {
		struct rte_tel_data *o = item_new();

		if (o == NULL)
			break;
		if (!item(o, g, offset + i)) {
			rte_tel_data_free(o);
			break;
		}
		add_item(d, offset + i, o);
	}
	pthread_mutex_unlock(&g->lock);
}

// params: "OFFSET", "OFFSET,FILTER", "FILTER" or none.
static int answer(const char *cmd, const char *params, struct rte_tel_data *d)
{
	char *filter = "";
	unsigned long first = params != NULL ? strtoul(params, &filter, 10) : 0;
	unsigned int offset = (unsigned int)RTE_MIN(first, UINT32_MAX / 2ul);

	filter += *filter == ',';
	rte_tel_data_start_dict(d);
	pthread_mutex_lock(&lock);
	for (size_t i = 0; gateway != NULL && i < RTE_DIM(commands); i++) {
		const struct command *c = &commands[i];

		if (strcmp(c->name, cmd) != 0)
			continue;
		if (c->item != NULL)
			page(d, gateway, c->item, offset);
		else
			c->page(d, gateway, offset, filter);
	}
	pthread_mutex_unlock(&lock);
	return 0;
}

void telemetry_start(struct gateway *g)
{
	gateway = g;
	for (size_t i = 0; i < RTE_DIM(commands); i++)
		rte_telemetry_register_cmd(commands[i].name, answer, commands[i].help);
}

void telemetry_stop(void)
{
	pthread_mutex_lock(&lock);
	gateway = NULL;
	pthread_mutex_unlock(&lock);
}
