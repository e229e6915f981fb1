// SPDX-License-Identifier: BSD-3-Clause
#include "single_gateway.h"

#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_rcu_qsbr.h>

#include "build.h"
#include "build_flow.h"
#include "die.h"
#include "keyed_hash.h"
#include "packet.h"
#include "packet_pool.h"

#define EVENTS_AT_ONCE 256 // as many as lib/control/events.c takes from a worker in a millisecond
#define NEIGH_TICK_MS  100
// The same as in app/culvertd/main.c
#define REASSEMBLY_SHARE   4
#define REASSEMBLY_SECONDS 15

static void solicit_nothing(
	void *arg, uint16_t port, const struct ip_addr *addr, const struct rte_ether_addr *to)
{
	(void)arg, (void)port, (void)addr, (void)to;
}

static void try_nothing(void *arg, uint16_t port, const struct ip_addr *addr)
{
	(void)arg, (void)port, (void)addr;
}

static void decided(void *arg, uint16_t port, const struct ip_addr *addr, enum dad_state was,
	enum dad_state state)
{
	(void)arg, (void)port, (void)addr, (void)was, (void)state;
}

static void neighbours_new(struct single_gateway *g)
{
	const struct conf *c = g->conf;

	g->neigh = neigh_table_new(&(struct neigh_params){.max = c->neighbours_max,
		.n_ports = c->n_ports,
		.reachable_s = c->neighbour_reachable_s,
		.qsbr = g->qsbr,
		.solicit = solicit_nothing});
	g->dad =
		dad_new(&(struct dad_params){.max = 8, .solicit = try_nothing, .decided = decided});
	if (g->neigh == NULL || g->dad == NULL)
		die("no memory for neighbours");
	for (unsigned int i = 0; i < c->n_neighbours; i++) {
		const struct conf_neighbour *n = &c->neighbours[i];

		if (neigh_set_static(g->neigh, (uint16_t)n->port, &n->addr, &n->mac) < 0)
			die("no room for neighbours");
	}
}

static void pools_new(struct single_gateway *g, unsigned int id)
{
	char name[32];

	snprintf(name, sizeof(name), "packets-%u", id);
	g->pool = packet_pool_new(name, g->conf->packet_buffers, 256, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	snprintf(name, sizeof(name), "reassembled-%u", id);
	g->large_pool = packet_pool_new(name, CONF_LARGE_BUFFERS, 32, UINT16_MAX, 0);
	if (g->pool == NULL || g->large_pool == NULL)
		die("no memory for packet buffers");
}

static void snapshot_new(struct single_gateway *g)
{
	struct build_port ports[2];
	char why[256];

	for (uint16_t p = 0; p < RTE_DIM(ports); p++)
		memcpy(&ports[p].mac, mac_of_port(p), sizeof(ports[p].mac));
	g->snapshot = build_snapshot(g->conf, ports, NULL, why, sizeof(why));
	if (g->snapshot == NULL)
		die("%s", why);
	if (build_commit(g->snapshot, g->conf) < 0)
		die("no memory for SAs");
	build_link(g->snapshot, NULL);
	build_link_end(g->snapshot);
	g->published = g->snapshot;
}

static void worker_make(struct single_gateway *g, unsigned int id)
{
	const struct conf *c = g->conf;
	struct worker_params wp = {
		.id = id,
		.pool = g->pool,
		.large_pool = g->large_pool,
		.neigh = g->neigh,
		.dad = g->dad,
		.flows = g->flows,
		.flow_slice = c->flows_max / FLOW_ROUND_MS + 1,
		.published = &g->published,
		.tsc_hz = rte_get_tsc_hz(),
		.errors_per_second = c->icmp_errors_per_second,
		.echoes_per_second = c->icmp_echoes_per_second,
		.held_max = c->neighbour_hold,
		.reassembly_max = c->packet_buffers / (REASSEMBLY_SHARE * REASSEMBLY_SIDES),
		.reassembly_s = REASSEMBLY_SECONDS,
	};

	if (hash_key_draw(&wp.hash_key) < 0)
		die("no random numbers");
	g->worker = worker_new(&wp);
	if (g->worker == NULL)
		die("no memory for a worker");
}

static void flows_new(struct single_gateway *g)
{
	struct flow_config config = build_flow_config(g->conf);

	g->flows = flow_table_new(
		&(struct flow_params){
			.capacity = g->conf->flows_max, .workers = 1, .qsbr = g->qsbr, .reader = 1},
		&config);
	if (g->flows == NULL || (g->conf->n_nat > 0 && flow_table_translate(g->flows) < 0))
		die("no memory for flows");
	while (flow_table_fill(g->flows)) // as the control thread does in the first seconds
		;
}

struct single_gateway *single_gateway_new(unsigned int id, struct conf *conf)
{
	struct single_gateway *g = calloc(1, sizeof(*g));

	if (g == NULL)
		die("no memory");
	g->conf = conf;
	g->conf->n_workers = id + 1; // arrays indexed by worker have room for this one
	g->qsbr = aligned_alloc(RTE_CACHE_LINE_SIZE,
		RTE_ALIGN_CEIL(rte_rcu_qsbr_get_memsize(id + 1), RTE_CACHE_LINE_SIZE));
	if (g->qsbr == NULL || rte_rcu_qsbr_init(g->qsbr, id + 1) != 0)
		die("no memory");
	rte_rcu_qsbr_thread_register(g->qsbr, id);
	neighbours_new(g);
	pools_new(g, id);
	flows_new(g);
	snapshot_new(g);
	worker_make(g, id);
	g->now = 5 * rte_get_tsc_hz();
	return g;
}

void single_gateway_free(struct single_gateway *g)
{
	pipeline_stop(g->worker);
	worker_free(g->worker);
	flow_table_free(g->flows);
	build_snapshot_free(g->snapshot);
	neigh_table_free(g->neigh);
	dad_free(g->dad);
	rte_mempool_free(g->pool);
	rte_mempool_free(g->large_pool);
	conf_free(g->conf);
	free(g->qsbr);
	free(g);
}

static void handle(struct single_gateway *g, const struct event *e, uint64_t now)
{
	if (e->kind == EVENT_NEIGH_NEEDED)
		neigh_resolve(g->neigh, e->port, &e->addr, e->holder, now);
	else if (e->kind == EVENT_NEIGH_HEARD)
		neigh_learn(g->neigh, e->port, &e->addr, &e->mac, e->for_us, now);
	else if (e->kind == EVENT_ND_SOLICITED)
		neigh_solicited(g->neigh, e->port, &e->addr, &e->mac, e->for_us, now);
}

void single_gateway_control(struct single_gateway *g)
{
	uint64_t now = g->now / (rte_get_tsc_hz() / 1000);
	struct event e;

	if (now == g->control_ms)
		return;
	rte_rcu_qsbr_thread_offline(
		g->qsbr, g->worker->id); // this thread is both control thread and worker
	for (unsigned int i = 0; i < EVENTS_AT_ONCE && worker_event_dequeue(g->worker, &e); i++)
		handle(g, &e, now);
	if (now / NEIGH_TICK_MS != g->control_ms / NEIGH_TICK_MS)
		neigh_tick(g->neigh, now);
	rte_rcu_qsbr_thread_online(g->qsbr, g->worker->id);
	g->control_ms = now;
}
