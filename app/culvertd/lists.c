// SPDX-License-Identifier: BSD-3-Clause
#include "lists.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "bond.h"
#include "collect.h"
#include "gateway.h"

static_assert(
	VIEW_BURSTS == LOOP_SIZES && sizeof((struct ports_view){0}.driver) >= RTE_ETH_NAME_MAX_LEN,
	"room in views");

static struct device_counts counts_of(const struct rte_eth_stats *s)
{
	return (struct device_counts){s->ipackets, s->ibytes, s->imissed, s->rx_nombuf, s->ierrors,
		s->opackets, s->obytes, s->oerrors};
}

struct vlan_counters lists_vlan_counters(const struct gateway *g, unsigned int port)
{
	struct vlan_counters n = {0};

	for (unsigned int i = 0; i < g->control.conf->n_workers; i++) {
		const struct vlan_counters *c = &g->control.workers[i]->vlan[port];

		n.rx_packets += c->rx_packets;
		n.rx_bytes += c->rx_bytes;
		n.tx_packets += c->tx_packets;
		n.tx_bytes += c->tx_bytes;
	}
	return n;
}

// Of a VLAN, as workers count; of a device's port as the device does.
static struct device_counts count_frames(const struct gateway *g, unsigned int port)
{
	const struct vlan_counters *since = &g->vlan_since[port];
	struct device_counts n = {0};
	struct vlan_counters vlan;
	struct rte_eth_stats stats;

	if (g->ports[port].parent == NULL)
		return port_is_open(&g->ports[port]) &&
				       rte_eth_stats_get(g->ports[port].id, &stats) == 0
			       ? counts_of(&stats)
			       : n;
	vlan = lists_vlan_counters(g, port);
	n.rx_packets = vlan.rx_packets - since->rx_packets;
	n.rx_bytes = vlan.rx_bytes - since->rx_bytes;
	n.tx_packets = vlan.tx_packets - since->tx_packets;
	n.tx_bytes = vlan.tx_bytes - since->tx_bytes;
	return n;
}

// Whether the device does a piece of work, or workers do it, or it is not done.
static const char *done_by(bool device, bool needed)
{
	if (device)
		return "hardware";
	return needed ? "software" : "off";
}

static void port_work(struct ports_view *v, const struct gateway *g, const struct port *device)
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

// Makes of a place in the list of ports the number of the port. False: the list is shorter.
static bool port_find(unsigned int *i, const struct conf *conf)
{
	for (unsigned int number = 0; number < conf->n_ports; number++)
		if (!conf_port_is_free(&conf->ports[number]) && (*i)-- == 0) {
			*i = number;
			return true;
		}
	return false;
}

bool collect_ports(void *view, const struct control *c, unsigned int i)
{
	const struct gateway *g = c->io_arg;
	struct ports_view *v = view;
	struct rte_eth_link link = {0};

	if (!port_find(&i, g->control.conf))
		return false;

	const struct port *p = &g->ports[i], *device = port_device(p);
	const struct control_link *l = &g->control.links[i];
	const struct control_host *host = &c->hosts[i];

	if (!port_is_open(p) || rte_eth_link_get_nowait(device->id, &link) != 0)
		link.link_speed = RTE_ETH_SPEED_NUM_UNKNOWN;
	*v = (struct ports_view){
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
		.counts = count_frames(g, i),
		.host = host->name,
		.host_state = host->state,
		.to_host = host->state != NULL ? host->to : UINT64_MAX,
		.from_host = host->state != NULL ? host->from : UINT64_MAX,
	};
	port_work(v, g, device);
	snprintf(v->name, sizeof(v->name), "%s", p->conf->name);
	snprintf(v->driver, sizeof(v->driver), "%s", device->driver);
	rte_ether_format_addr(v->mac, sizeof(v->mac), &device->mac);
	return true;
}

static void member_fill(struct port_members_view *v, const struct port *p, unsigned int member)
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
	v->counts = counts_of(&stats);
}

bool collect_port_members(void *view, const struct control *c, unsigned int i)
{
	const struct gateway *g = c->io_arg;
	struct port_members_view *v = view;
	unsigned int port = 0;

	while (port < c->conf->n_ports && i >= c->conf->ports[port].n_members)
		i -= c->conf->ports[port++].n_members;
	if (port == c->conf->n_ports)
		return false;
	*v = (struct port_members_view){.link = "down"};
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

static const char *const idle_names[] = {[CONF_IDLE_POLL] = "poll",
	[CONF_IDLE_PAUSE] = "pause",
	[CONF_IDLE_SLEEP] = "sleep",
	[CONF_IDLE_INTERRUPT] = "interrupt"};

bool collect_workers(void *view, const struct control *c, unsigned int i)
{
	const struct gateway *g = c->io_arg;
	struct workers_view *v = view;
	if (i >= g->control.conf->n_workers)
		return false;

	const struct loop *l = g->loops[i];
	const uint64_t now = rte_rdtsc(), ms = rte_get_tsc_hz() / 1000;
	uint64_t age = now - c->started_ms * ms;
	uint64_t idle = RTE_MIN(idle_until(l, now), age);

	*v = (struct workers_view){
		.worker = i,
		.cpu = g->control.conf->worker_cpus[i],
		.queues = loop_queues(l),
		.idle = idle_names[l->idle.way],
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

// The i-th queue of a worker; places of ports that were removed have none.
static const struct loop_queue *queue_find(const struct loop *l, unsigned int i)
{
	const struct loop_queue *q = l->rx;

	while (loop_queue_port(q) == LOOP_NO_PORT || i-- > 0)
		q++;
	return q;
}

bool collect_queues(void *view, const struct control *c, unsigned int i)
{
	const struct gateway *g = c->io_arg;
	struct queues_view *v = view;
	unsigned int w = 0;

	while (w < g->control.conf->n_workers && i >= loop_queues(g->loops[w]))
		i -= loop_queues(g->loops[w++]);
	if (w == g->control.conf->n_workers)
		return false;

	const struct loop_queue *q = queue_find(g->loops[w], i);

	snprintf(v->port, sizeof(v->port), "%s", g->control.conf->ports[loop_queue_port(q)].name);
	v->worker = w;
	v->queue = q->queue;
	for (unsigned int s = 0; s < LOOP_SIZES; s++)
		v->bursts[s] = q->bursts[s];
	return true;
}

unsigned int lists_device_counters(void *gateway, uint16_t port, unsigned int first,
	struct device_counter counters[], unsigned int n)
{
	const struct gateway *g = gateway;
	const struct port *device = port_device(&g->ports[port]);
	int has = port_is_open(device) ? rte_eth_xstats_get(device->id, NULL, 0) : 0;
	unsigned int all = (unsigned int)RTE_MAX(has, 0), end = RTE_MIN(all, first + n);
	struct rte_eth_xstat *value = calloc(all + 1, sizeof(*value));
	struct rte_eth_xstat_name *name = calloc(all + 1, sizeof(*name));

	if (value == NULL || name == NULL || all == 0 ||
		rte_eth_xstats_get(device->id, value, all) != has ||
		rte_eth_xstats_get_names(device->id, name, all) != has)
		end = first;
	for (unsigned int i = first; i < end; i++) {
		memcpy(counters[i - first].name, name[i].name, sizeof(counters->name));
		counters[i - first].value = value[i].value;
	}
	free(value);
	free(name);
	return end > first ? end - first : 0;
}

const struct view_list view_lists[] = {
#define LIST(list, text)                                                                           \
	{.name = #list,                                                                            \
		.help = (text),                                                                    \
		.size = sizeof(struct list##_view),                                                \
		.collect = collect_##list},
#include "field.def"
};

const unsigned int view_n_lists = RTE_DIM(view_lists);
