// SPDX-License-Identifier: BSD-3-Clause
// The cost of routes for the flows that go by them, in TSC cycles for each packet:
//
//   bench_routing [--routes N] [--flows N] [--changes N] [--rounds N] [--json]
//
//   first    the first packet of a flow, with 10 routes, and with N (a million) in their place
//   changes  a packet of one of N (a million) established flows, alone, and while N (1000) routes
//            that no flow goes by come or go each second
//   class    the same, if these routes alter which sources are admitted: flows of their region
//   would
//            be decided again
//   down     the tunnel of 100,000 flows goes down, which share a route with as many by another
//            tunnel, beside 100,000 flows in clear
//
// Two gateways in one process pass batches of the same kind in turn, so that other load of the
// machine affects both. Packets of 64 octets, in clear, bursts of 32. Changes are made while the
// clock is stopped: the control thread has a CPU of its own. decided: flows that were decided
// again.

#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "conf_text.h"
#include "die.h"
#include "flow_table.h"
#include "median.h"
#include "nic.h"
#include "options.h"
#include "packet.h"
#include "route_change.h"
#include "route_set.h"
#include "routing_down.h"
#include "routing_packet.h"
#include "single_gateway.h"

#define BURST       32
#define ROUNDS      301
#define ROUNDS_MAX  9999
#define FEW_ROUTES  10
#define FLOWS_MORE  65536 // room in the table of flows
#define FLOW_ROUTES 1000  // that the established flows go by

struct options {
	unsigned int routes, flows, changes, rounds;
	bool json;
};

struct side {
	struct single_gateway *gateway;
	struct route *route; // that packets go by
	unsigned int n_routes;
	unsigned int flows;   // 0: each packet begins one
	unsigned int changes; // a second
	bool class;           // they alter which sources are admitted
	double due;           // of them
	bool added;           // the route that comes and goes
	uint64_t seed, changed;
	uint32_t begun; // flows
	struct batch batch;
};

static void conf_write(FILE *f, const void *flows)
{
	fprintf(f,
		"flows = { max = %u; timeouts = { udp = 100000; }; };\n"
		"ports = (\n"
		"  { name = \"lan\"; device = \"net_null0\"; side = \"protected\"; addresses = [ "
		"\"10.1.0.1/16\" ]; },\n"
		"  { name = \"wan\"; device = \"net_null1\"; side = \"protected\"; addresses = [ "
		"\"198.18.0.1/16\" ]; } );\n"
		"neighbours = ( { address = \"198.18.0.2\"; mac = \"02:00:00:00:02:01\"; } );\n"
		"policies = ( { name = \"all\"; action = \"bypass\"; } );\n",
		*(const unsigned int *)flows + FLOWS_MORE);
}

static void route_add(struct side *s, const struct route *r)
{
	if (route_put(s->gateway->snapshot->routes, r) != 0)
		die("no room for routes");
}

static struct route random_route(uint64_t *seed)
{
	struct route r;

	do
		r = route_of_set(seed, IP_V4);
	while (ip_addr_v4(&r.to.addr) % 256 == 10 || ip_addr_v4(&r.to.addr) % 256 == 127 ||
		ip_addr_v4(&r.to.addr) % 256 == 198);
	r.owner = ROUTE_KERNEL;
	r.nexthop.iface = WAN;
	r.nexthop.gateway = ip_addr_from_v4(RTE_BE32(RTE_IPV4(198, 18, 0, 2)));
	return r;
}

static struct side *side_new(unsigned int id, unsigned int routes, unsigned int flows,
	unsigned int room, unsigned int changes)
{
	struct side *s = calloc(1, sizeof(*s));

	if (s == NULL)
		die("no memory");
	s->gateway = single_gateway_new(id, conf_written(conf_write, &room));
	s->route = calloc(routes, sizeof(s->route[0]));
	s->batch.stride =
		(uint32_t)RTE_ALIGN_CEIL(sizeof(struct routing_packet), RTE_CACHE_LINE_SIZE);
	s->batch.n = BATCH_MAX;
	s->batch.warm = s->batch.n / 4;
	s->batch.frame = aligned_alloc(RTE_CACHE_LINE_SIZE, (size_t)s->batch.stride * s->batch.n);
	if (s->route == NULL || s->batch.frame == NULL)
		die("no memory");
	s->seed = 7;
	s->flows = flows;
	s->changes = changes;
	s->n_routes = routes;
	for (unsigned int i = 0; i < routes; i++) {
		s->route[i] = random_route(&s->seed);
		route_add(s, &s->route[i]);
	}
	return s;
}

static void side_free(struct side *s)
{
	single_gateway_free(s->gateway);
	free(s->route);
	free(s->batch.frame);
	free(s);
}

// The i-th flow of a side: its route, addresses and ports follow from the number.
static void packet_make(const struct side *s, struct routing_packet *p, uint32_t i)
{
	uint64_t seed = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
	const struct route *r = &s->route[random_below(&seed, s->n_routes)];
	const struct ip_addr dst = addr_in(&seed, &r->to);

	routing_packet_write(p, i, ip_addr_v4(&dst));
}

static void batch_make(struct side *s)
{
	for (unsigned int i = 0; i < s->batch.n; i++) {
		bool first = s->flows == 0 || s->begun < s->flows;

		packet_make(s, (struct routing_packet *)batch_frame(&s->batch, i),
			first ? s->begun++ : random_below(&s->seed, s->flows));
		s->batch.len[i] = sizeof(struct routing_packet);
	}
}

static void run(struct side *s, unsigned int first, unsigned int end, uint64_t clock)
{
	struct single_gateway *g = s->gateway;
	struct tx_buffer *tx = &g->worker->tx[WAN];
	struct rte_mbuf *m[BURST];

	for (; first < end; first += BURST) {
		nic_receive(g->pool, m, &s->batch, first, BURST, LAN);
		single_gateway_pass(g, m, BURST, rte_rdtsc() - clock);
		if (tx->n != BURST)
			routing_lost(g, BURST - tx->n);
		tx->n = 0;
		nic_send(tx->m, BURST);
	}
}

// A route that no flow goes by comes, or goes again.
static void change(struct side *s, struct flow_regions *regions)
{
	struct route_table *t = s->gateway->snapshot->routes;
	struct route r = s->route[0];

	// 100.64.0.0/10 (RFC 6598) is in no other route.
	r.to = (struct ip_prefix){
		.addr = ip_addr_from_v4(RTE_BE32(RTE_IPV4(100, 64, 1, 0))), .len = IP_V4_BITS + 24};
	if (s->added)
		route_delete(t, &r.to, &r.from, r.owner);
	else
		route_add(s, &r);
	s->added = !s->added;
	if (s->class)
		flow_regions_add(regions, &r.to);
	route_table_release(t, route_table_removed(t)); // no packet is in the gateway
	s->changed++;
}

// The changes that are due.
static void changes(struct side *s, uint64_t cycles)
{
	static struct flow_regions regions;

	regions = (struct flow_regions){.any = false};
	s->due += (double)cycles / (double)rte_get_tsc_hz() * s->changes;
	for (; s->due >= 1; s->due--)
		change(s, &regions);
	flow_redecide(s->gateway->flows, &regions);
}

// Returns the mean cycles of a packet, without the first ones, which fill the caches.
static double batch_run(struct side *s)
{
	uint64_t clock, from, to, began = s->gateway->now;

	batch_make(s);
	clock = rte_rdtsc() - s->gateway->now;
	run(s, 0, s->batch.warm, clock);
	from = rte_rdtsc_precise();
	run(s, s->batch.warm, s->batch.n, clock);
	to = rte_rdtsc_precise();
	s->gateway->now = to - clock;
	single_gateway_control(s->gateway);
	changes(s, s->gateway->now - began);
	return (double)(to - from) / (s->batch.n - s->batch.warm);
}

struct row {
	double alone, with, ratio;
	uint64_t decided, changed;
};

static struct row measure(struct side *alone, struct side *with, unsigned int rounds)
{
	static double a[ROUNDS_MAX], b[ROUNDS_MAX], ratio[ROUNDS_MAX];
	struct row row;

	while (alone->begun < alone->flows || with->begun < with->flows) {
		batch_run(alone);
		batch_run(with);
	}
	row.decided = routing_decisions(with->gateway);
	row.changed = with->changed;
	for (unsigned int i = 0; i < rounds; i++) {
		a[i] = batch_run(alone);
		b[i] = batch_run(with);
		ratio[i] = b[i] / a[i];
	}
	row.alone = median(a, rounds);
	row.with = median(b, rounds);
	row.ratio = median(ratio, rounds);
	row.decided = routing_decisions(with->gateway) - row.decided;
	row.changed = with->changed - row.changed;
	side_free(alone);
	side_free(with);
	return row;
}

static void first_run(const struct options *o)
{
	unsigned int room = BATCH_MAX * o->rounds;
	struct row row = measure(
		side_new(0, FEW_ROUTES, 0, room, 0), side_new(1, o->routes, 0, room, 0), o->rounds);

	printf(o->json ? "{\"row\":\"first\",\"routes\":%u,\"few\":%.1f,\"many\":%.1f,\"ratio\":%."
			 "3f}\n"
		       : "first    %u routes instead of 10: %.0f, %.0f, ratio %.3f\n",
		o->routes, row.alone, row.with, row.ratio);
}

static void changes_run(const struct options *o, bool class)
{
	struct side *with = side_new(1, FLOW_ROUTES, o->flows, o->flows, o->changes);
	struct row row;

	with->class = class;
	row = measure(side_new(0, FLOW_ROUTES, o->flows, o->flows, 0), with, o->rounds);
	printf(o->json ? "{\"row\":\"%s\",\"flows\":%u,\"changes\":%lu,\"decided\":%lu,"
			 "\"alone\":%.1f,\"with\":%.1f,\"ratio\":%.3f}\n"
		       : "%-8s %u flows, %lu changes, %lu decided again: %.0f, %.0f, ratio "
			 "%.3f\n",
		class ? "class" : "changes", o->flows, row.changed, row.decided, row.alone,
		row.with, row.ratio);
}

static void options_read(struct options *o, int argc, char **argv)
{
	const struct option_row all[] = {
		{.name = "routes", .number = &o->routes, .max = 1000000},
		{.name = "flows", .number = &o->flows, .max = 2000000},
		{.name = "changes", .number = &o->changes, .max = 1000000},
		{.name = "rounds", .number = &o->rounds, .max = ROUNDS_MAX},
		{.name = "json", .flag = &o->json},
	};

	option_rows_read(all, RTE_DIM(all), argc, argv);
}

int main(int argc, char **argv)
{
	struct options o = {.routes = 1000000, .flows = 1000000, .changes = 1000, .rounds = ROUNDS};

	options_read(&o, argc, argv);
	nic_start(1);
	first_run(&o);
	changes_run(&o, false);
	changes_run(&o, true);
	routing_down(o.flows / 10, o.json);
	nic_stop();
	return EXIT_SUCCESS;
}
