// SPDX-License-Identifier: BSD-3-Clause
#include "telemetry.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_telemetry.h>

#include "collect.h"
#include "telemetry_add.h"
#include "telemetry_flow.h"
#include "telemetry_match.h"
#include "telemetry_policy.h"
#include "telemetry_sa.h"
#include "telemetry_trace.h"

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
	struct port_view v;

	if (!collect_port(&v, g, i))
		return false;
	add_string(d, "name", v.name);
	add_string(d, "driver", v.driver);
	add_string(d, "side", v.unprotected ? "unprotected" : "protected");
	add_mac(d, "mac", &v.mac);
	add_addresses(d, &g->conf->ports[i], &g->snapshot->port[i]);
	add_u64(d, "mtu", v.mtu);
	add_string(d, "link", v.up ? "up" : "down");
	add_u64(d, "link_mbps", v.link_mbps);
	add_u64(d, "link_changes", v.link_changes);
	add_u64(d, "rx_queues", v.rx_queues);
	add_u64(d, "rx_packets", v.rx_packets);
	add_u64(d, "rx_bytes", v.rx_bytes);
	add_u64(d, "rx_missed", v.rx_missed);
	add_u64(d, "rx_no_buffer", v.rx_no_buffer);
	add_u64(d, "rx_errors", v.rx_errors);
	add_u64(d, "tx_packets", v.tx_packets);
	add_u64(d, "tx_bytes", v.tx_bytes);
	add_u64(d, "tx_errors", v.tx_errors);
	return true;
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

static void counters_add(
	struct rte_tel_data *d, const struct counters *c, uint64_t drops, uint64_t held)
{
	add_u64(d, "rx", c->rx);
	add_u64(d, "originated", c->originated);
	add_u64(d, "tx", c->tx);
	add_u64(d, "drops", drops);
	add_u64(d, "local", c->local);
	add_u64(d, "held", held);
	add_u64(d, "errors_suppressed", c->errors_suppressed);
}

static bool stage_item(struct rte_tel_data *d, const struct gateway *g, unsigned int i)
{
	struct stage_view v;
	const struct stage_counters *c = &v.counters;

	if (!collect_stage(&v, g, i))
		return false;
	add_string(d, "stage", v.stage->name);
	add_u64(d, "calls", c->calls);
	add_u64(d, "packets", c->packets);
	add_u64(d, "packets_per_call", c->calls > 0 ? c->packets / c->calls : 0);
	add_u64(d, "cycles_per_packet", c->packets > 0 ? c->cycles / c->packets : 0);
	add_string(d, "help", v.stage->help);
	return true;
}

static bool queue_item(struct rte_tel_data *d, const struct gateway *g, unsigned int i)
{
	static const char *const sizes[LOOP_SIZES] = {
		"bursts_1", "bursts_2", "bursts_4", "bursts_8", "bursts_16", "bursts_32"};
	struct queue_view v;

	if (!collect_queue(&v, g, i))
		return false;
	add_string(d, "port", v.port);
	add_u64(d, "queue", v.queue);
	add_u64(d, "worker", v.worker);
	for (unsigned int s = 0; s < LOOP_SIZES; s++)
		add_u64(d, sizes[s], v.bursts[s]);
	return true;
}

static bool worker_item(struct rte_tel_data *d, const struct gateway *g, unsigned int i)
{
	struct worker_view v;

	if (!collect_worker(&v, g, i))
		return false;
	add_u64(d, "worker", v.worker);
	add_u64(d, "cpu", v.cpu);
	add_string(d, "state", v.stalled ? "stalled" : "running");
	add_u64(d, "stalls", v.stalls);
	add_u64(d, "longest_round_us", v.longest_round_us);
	add_u64(d, "queues", v.queues);
	add_string(d, "idle", v.idle);
	add_u64(d, "busy_ms", v.busy_ms);
	add_u64(d, "idle_ms", v.idle_ms);
	add_u64(d, "passes", v.counters.passes);
	counters_add(d, &v.counters, v.drops, v.held);
	return true;
}

static bool memory_item(struct rte_tel_data *d, const struct gateway *g, unsigned int i)
{
	struct memory_view v;

	if (!collect_memory(&v, g, i))
		return false;
	add_string(d, "memory", v.name);
	add_u64(d, "used", v.used);
	add_u64(d, "size", v.size);
	add_string(d, "of", v.what);
	add_string(d, "setting", v.setting);
	return true;
}

static bool totals_item(struct rte_tel_data *d, const struct gateway *g, unsigned int i)
{
	struct total_view v;

	if (!collect_total(&v, g, i))
		return false;
	counters_add(d, &v.counters, v.drops, v.held);
	add_u64(d, "keepalives_in", v.counters.keepalives_in);
	add_u64(d, "keepalives_out", v.counters.keepalives_out);
	add_u64(d, "buffers_total", v.buffers);
	add_u64(d, "buffers_in_use", v.buffers_in_use);
	add_u64(d, "buffers_free_min", v.buffers_free_min);
	add_u64(d, "flows", v.flows);
	add_u64(d, "flows_max", v.flows_max);
	add_u64(d, "flows_created", v.flow.created);
	add_u64(d, "flows_expired", v.flow.expired);
	add_u64(d, "flows_evicted", v.flow.evicted);
	add_u64(d, "flows_flushed", v.flow.flushed);
	add_u64(d, "flows_reopened", v.flow.reopened);
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
	{"/culvert/flows",
		"Flows. Parameters: number of the first; address=, port=, proto=, state=, sa=",
		NULL, flow_page},
	{"/culvert/info", "The daemon itself", info_item, NULL},
	{"/culvert/match",
		"What would happen to a packet. Parameters: 0; source=, destination=, proto=, "
		"destination_port=, source_port=",
		NULL, match_page},
	{"/culvert/memory", "Pools and tables of fixed size, and how much of them is used",
		memory_item, NULL},
	{"/culvert/neighbours", "Neighbour table", neighbour_item, NULL},
	{"/culvert/policies",
		"Security policies, in order. asked: look-ups, mostly of the first of a flow each "
		"way; packets and bytes: all that it decided",
		policy_item, NULL},
	{"/culvert/ports", "Ports", port_item, NULL},
	{"/culvert/queues", "Receive queues: bursts by size, that many frames up to the next size",
		queue_item, NULL},
	{"/culvert/routes", "Routes", route_item, NULL},
	{"/culvert/rules", "Firewall rules, in order. Counters: as of policies", rule_item, NULL},
	{"/culvert/sas", "Security associations", sa_item, NULL},
	{"/culvert/sas_busiest", "Those that carry most now, at most 16", NULL, sa_busiest_page},
	{"/culvert/totals", "Packets in, out and between, packet buffers, flows", totals_item,
		NULL},
	{"/culvert/tunnels", "Tunnels: policies that protect, and whether the peer answers",
		tunnel_item, NULL},
	{"/culvert/stages", "What the stages of a pass cost, from one pass in 1024", stage_item,
		NULL},
	{"/culvert/trace_state", "Whether it is on. Parameters: 0; trace=", NULL, trace_state_page},
	{"/culvert/trace_steps",
		"What has happened to them. Parameters: number of the first; trace=", NULL,
		trace_steps_page},
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
