// SPDX-License-Identifier: BSD-3-Clause
#include "lists.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "bond.h"
#include "collect.h"
#include "gateway.h"
#include "host_thread.h"
#include "version.h"

#define NEIGH_AT_ONCE 4096 // copied: the table is stepped through from its start each time

static_assert(
	VIEW_BURSTS == LOOP_SIZES && sizeof((struct port_view){0}.driver) >= RTE_ETH_NAME_MAX_LEN,
	"room in views");

// Of a VLAN, as workers count; of a device's port the device's.
static void count_frames(struct rte_eth_stats *stats, const struct gateway *g, unsigned int port)
{
	*stats = (struct rte_eth_stats){0};
	if (g->ports[port].parent == NULL) {
		if (port_is_open(&g->ports[port]))
			rte_eth_stats_get(g->ports[port].id, stats);
		return;
	}
	for (unsigned int i = 0; i < g->control.conf->n_workers; i++) {
		const struct vlan_counters *c = &g->control.workers[i]->vlan[port];

		stats->ipackets += c->rx_packets;
		stats->ibytes += c->rx_bytes;
		stats->opackets += c->tx_packets;
		stats->obytes += c->tx_bytes;
	}
}

// Who does a piece of work: the device, or workers if somebody has to.
static const char *done_by(bool device, bool needed)
{
	if (device)
		return "hardware";
	return needed ? "software" : "off";
}

static void port_work(struct port_view *v, const struct gateway *g, const struct port *device)
{
	const struct port_offloads *o = &device->offloads;
	const struct port_rules *r = port_is_open(device) ? device->rules : NULL;
	bool queues = device->n_rx > 1, few = device->n_rx < g->control.conf->n_workers;
	bool shared = g->control.workers[0]->fanout != NULL;

	v->rx_checksum = done_by((o->rx & RTE_ETH_RX_OFFLOAD_IPV4_CKSUM) != 0, true);
	v->tx_checksum = done_by(false, true);
	v->vlan_tags = done_by((o->rx & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0, device->vlans != NULL);
	v->spread = done_by(queues && !few, few);
	v->spread_esp = done_by(
		queues && !shared && (port_offloads_spread_esp(o) || (r != NULL && r->esp_hashed)),
		shared);
	v->spread_esp_udp = done_by(queues && !shared && r != NULL && r->udp_hashed, shared);
	v->steered_sas = r != NULL ? r->n : 0;
}

bool collect_port(void *view, const struct control *c, unsigned int i)
{
	const struct gateway *g = c->io_arg;
	struct port_view *v = view;
	struct rte_eth_stats stats;
	struct rte_eth_link link = {0};

	if (i >= g->control.conf->n_ports)
		return false;

	const struct port *p = &g->ports[i], *device = port_device(p);
	const struct control_link *l = &g->control.links[i];
	const struct host_packets host = host_thread_packets(g->host, (uint16_t)i);

	count_frames(&stats, g, i);
	if (!port_is_open(p) || rte_eth_link_get_nowait(device->id, &link) != 0)
		link.link_speed = RTE_ETH_SPEED_NUM_UNKNOWN;
	*v = (struct port_view){
		.side = p->conf->unprotected ? "unprotected" : "protected",
		.link = l->up ? "up" : "down",
		.conf = &g->control.conf->ports[i],
		.port = &g->control.snapshot->port[i],
		.dad = g->control.dad,
		.number = (uint16_t)i,
		.up = l->up,
		.link_changes = l->changes,
		.link_mbps = link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? 0 : link.link_speed,
		.rx_queues = p->n_rx,
		.parent = p->conf->parent_name,
		.vlan = p->conf->vlan,
		.mtu = p->conf->mtu,
		.rx_packets = stats.ipackets,
		.rx_bytes = stats.ibytes,
		.rx_missed = stats.imissed,
		.rx_no_buffer = stats.rx_nombuf,
		.rx_errors = stats.ierrors,
		.tx_packets = stats.opackets,
		.tx_bytes = stats.obytes,
		.tx_errors = stats.oerrors,
		.host = p->conf->host != NULL ? p->conf->host : "",
		.to_host = p->conf->host != NULL ? host.to : UINT64_MAX,
		.from_host = p->conf->host != NULL ? host.from : UINT64_MAX,
	};
	port_work(v, g, device);
	snprintf(v->name, sizeof(v->name), "%s", p->conf->name);
	snprintf(v->driver, sizeof(v->driver), "%s", device->driver);
	rte_ether_format_addr(v->mac, sizeof(v->mac), &device->mac);
	return true;
}

static void member_fill(struct member_view *v, const struct port *p, unsigned int member)
{
	struct rte_eth_dev_info info;
	struct rte_eth_stats stats;
	struct rte_ether_addr partner;
	struct rte_eth_link link;
	const char *failure;
	uint16_t id;

	if (!port_is_open(p))
		return;
	failure = bond_failure(p->bond, member);
	v->link = failure != NULL ? failure : "down";
	if (!bond_member(&id, &link, p->bond, member) || rte_eth_stats_get(id, &stats) != 0 ||
		rte_eth_dev_info_get(id, &info) != 0)
		return;
	snprintf(v->driver, sizeof(v->driver), "%s", info.driver_name);
	v->up = failure == NULL && link.link_status == RTE_ETH_LINK_UP;
	v->link = v->up ? "up" : v->link;
	v->is_active = bond_active(p->bond) >> member & 1;
	v->active = v->is_active != 0;
	v->link_mbps = link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? 0 : link.link_speed;
	if (bond_partner(&partner, p->bond, member))
		rte_ether_format_addr(v->partner, sizeof(v->partner), &partner);
	v->rx_packets = stats.ipackets;
	v->rx_bytes = stats.ibytes;
	v->rx_missed = stats.imissed;
	v->rx_errors = stats.ierrors;
	v->tx_packets = stats.opackets;
	v->tx_bytes = stats.obytes;
	v->tx_errors = stats.oerrors;
}

bool collect_member(void *view, const struct control *c, unsigned int i)
{
	const struct gateway *g = c->io_arg;
	struct member_view *v = view;
	unsigned int port = 0;

	while (port < c->conf->n_ports && i >= c->conf->ports[port].n_members)
		i -= c->conf->ports[port++].n_members;
	if (port == c->conf->n_ports)
		return false;
	*v = (struct member_view){.link = "down"};
	snprintf(v->port, sizeof(v->port), "%s", c->conf->ports[port].name);
	snprintf(v->device, sizeof(v->device), "%s", c->conf->ports[port].members[i]);
	member_fill(v, &g->ports[port], i);
	return true;
}

// Cycles that the worker has been idle, also since its last pass: otherwise time would count as
// busy until the worker wakes, and as idle then.
static uint64_t idle_until(const struct loop *l, uint64_t now)
{
	uint64_t since, cycles;

	do { // the worker may end its idle time in between
		since = l->idle_since;
		rte_compiler_barrier();
		cycles = l->idle_cycles;
		rte_compiler_barrier();
	} while (since != l->idle_since);
	return since != 0 && since < now ? cycles + now - since : cycles;
}

bool collect_worker(void *view, const struct control *c, unsigned int i)
{
	const struct gateway *g = c->io_arg;
	struct worker_view *v = view;
	if (i >= g->control.conf->n_workers)
		return false;

	const struct loop *l = g->loops[i];
	const uint64_t now = rte_rdtsc(), ms = rte_get_tsc_hz() / 1000;
	uint64_t age = now - g->started_ms * ms;
	uint64_t idle = RTE_MIN(idle_until(l, now), age);

	*v = (struct worker_view){
		.worker = i,
		.cpu = g->control.conf->worker_cpus[i],
		.queues = l->n_rx,
		.idle = idle_name(&l->idle),
		.state = c->health.worker[i].stalled ? "stalled" : "running",
		.stalled = c->health.worker[i].stalled,
		.stalls = c->health.worker[i].stalls,
		.longest_round_us = l->longest_round / (rte_get_tsc_hz() / 1000000),
		.counters = l->worker->counters,
		.held = loop_held(l),
		.busy_ms = (age - idle) / ms,
		.idle_ms = idle / ms,
	};
	v->drops = counters_drops(&v->counters);
	return true;
}

bool collect_queue(void *view, const struct control *c, unsigned int i)
{
	const struct gateway *g = c->io_arg;
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

static uint64_t neighbours_sum(const struct gateway *g)
{
	uint64_t count[NEIGH_STATES], sum = 0;

	count_neighbours(count, g);
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
	const struct gateway *g = c->io_arg;
	struct rte_malloc_socket_stats heap;
	struct memory_view *v = view;

	if (i >= ROWS)
		return false;
	*v = (struct memory_view){
		.name = rows[i].name, .what = rows[i].what, .setting = rows[i].setting};
	if (i == PACKETS || i == REASSEMBLED) {
		const struct rte_mempool *pool = i == PACKETS ? c->pool : g->large_pool;

		v->used = rte_mempool_in_use_count(pool);
		v->size = pool->size;
	} else if (i == FLOWS) {
		v->used = flow_count(c->flows);
		v->size = c->conf->flows_max;
	} else if (i == NEIGHBOURS) {
		v->used = neighbours_sum(g);
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

bool collect_total(void *view, const struct control *c, unsigned int i)
{
	const struct gateway *g = c->io_arg;
	struct total_view *v = view;

	if (i > 0)
		return false;

	const struct rte_malloc_socket_stats heap = heap_sum();

	*v = (struct total_view){
		.counters = collect_counters(c),
		.held = gateway_held(g),
		.buffers = g->control.pool->size,
		.buffers_in_use = rte_mempool_in_use_count(g->control.pool),
		.buffers_free_min = c->health.buffers_free_min,
		.flows = flow_count(g->control.flows),
		.flows_max = g->control.conf->flows_max,
		.heap_used = heap.heap_allocsz_bytes,
		.heap_size = heap.heap_totalsz_bytes,
	};
	v->drops = counters_drops(&v->counters);
	flow_counters_sum(g->control.flows, &v->flow);
	count_neighbours(v->neighbours, g);
	event_log_counts(v->events);
	return true;
}

bool collect_info(void *view, const struct control *c, unsigned int i)
{
	const struct gateway *g = c->io_arg;
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

const struct view_list view_lists[] = {
#define LIST(list, view, text)                                                                     \
	{.name = #list,                                                                            \
		.help = (text),                                                                    \
		.size = sizeof(struct view##_view),                                                \
		.collect = collect_##view},
#define FIELD(list, name, type, role, value, metric)
#define METRIC(list, metric)
#include "field.def"
#undef LIST
#undef FIELD
#undef METRIC
};

const unsigned int view_n_lists = RTE_DIM(view_lists);
