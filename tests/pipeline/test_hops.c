// SPDX-License-Identifier: BSD-3-Clause
// Routes with several next hops. Proves that they share flows by their weights, that a flow stays
// on its hop as long as that is up and in the group, and that one store of the control thread moves
// the flows of a hop that is down.
#include "addrs.h"
#include "build.h"
#include "hop_group.h"
#include "route_change.h"
#include "site_hops.h"

#define FLOWS 10000

// Last octets of neighbours' link addresses: they show by which hop a packet was sent.
enum { PEER_B = 2, PEER_C = 3, FIRST = 251, ROUTER = 254, ROUTER2 };

static uint8_t first[FLOWS], next[FLOWS];

// The link address that a packet of the flow is sent to.
static uint8_t hop_of(struct gateway *g, const char *dst, unsigned int flow)
{
	struct frame f = frame_ip(
		LAN, (struct ipv4)FROM_TO("10.1.0.5", dst, .sport = (uint16_t)(1024 + flow)));

	gateway_pass(g, &f, 1);
	assert_int_equal(g->n_sent, 1);
	return g->sent[0].b[5];
}

static void send_flows(struct gateway *g, const char *dst, uint8_t hop[FLOWS])
{
	for (unsigned int i = 0; i < FLOWS; i++)
		hop[i] = hop_of(g, dst, i);
}

static unsigned int count(const uint8_t hop[FLOWS], uint8_t which)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < FLOWS; i++)
		n += hop[i] == which;
	return n;
}

static void expect_share(const uint8_t hop[FLOWS], uint8_t which, unsigned int share)
{
	assert_in_range(count(hop, which), share - FLOWS * 5 / 100, share + FLOWS * 5 / 100);
}

// Only the flows of that hop have moved.
static void expect_moved_from(uint8_t which)
{
	for (unsigned int i = 0; i < FLOWS; i++)
		if (first[i] == which)
			assert_int_not_equal(next[i], which);
		else
			assert_int_equal(next[i], first[i]);
}

static void expect_same(void)
{
	assert_memory_equal(first, next, FLOWS);
}

static uint64_t decisions(const struct gateway *g)
{
	return gateway_policy_decided(g, "clear").asked;
}

// The store of the control thread for a link or a tunnel that is down, and nothing more.
static void link_set(struct gateway *g, uint16_t port, bool up)
{
	atomic_store(&g->snapshot->objects->link_down[port], !up);
}

// Tunnels come after the policies.
static const struct spd_policy *tunnel(const struct gateway *g, const char *name)
{
	const struct spd *spd = g->snapshot->spd;
	unsigned int at = spd_count_policies(spd);

	while (strcmp(spd_at(spd, at)->name, name) != 0)
		at++;
	return spd_at(spd, at);
}

static uint64_t tunnel_decisions(const struct gateway *g)
{
	const struct decided *of = g->snapshot->objects->decisions[DECIDER_POLICY]->worker[0];

	return of[tunnel(g, "b")->number].asked + of[tunnel(g, "c")->number].asked;
}

static void tunnel_set(struct gateway *g, const char *name, bool up)
{
	const struct spd_policy *t = tunnel(g, name);

	objects_out_set(g->snapshot->objects, t->number, up ? t->out : NULL);
}

static void test_shares(void **state)
{
	struct gateway *g = gateway_new(0, site_hops);

	(void)state;
	send_flows(g, "10.5.0.9", first);
	expect_share(first, ROUTER, FLOWS * 3 / 4);
	expect_share(first, ROUTER2, FLOWS / 4);
	send_flows(g, "10.5.0.9", next);
	expect_same();
	assert_int_equal(decisions(g), FLOWS);
	gateway_free(g);
	g = gateway_new(0, site_hops);
	send_flows(g, "10.6.0.9", first);
	expect_share(first, PEER_B, FLOWS / 2);
	expect_share(first, PEER_C, FLOWS / 2);
	send_flows(g, "10.6.0.9", next);
	expect_same();
	gateway_free(g);
}

// The next packet of each flow by the port notices; other flows are not decided again, and when the
// link returns no flow is.
static void test_link_goes_down(void **state)
{
	struct gateway *g = gateway_new(0, site_hops);
	uint64_t decided = FLOWS;

	(void)state;
	send_flows(g, "10.5.0.9", first);
	link_set(g, WAN2, false);
	send_flows(g, "10.5.0.9", next);
	expect_moved_from(ROUTER2);
	assert_int_equal(decisions(g), decided += count(first, ROUTER2));
	link_set(g, WAN2, true);
	memcpy(first, next, FLOWS);
	send_flows(g, "10.5.0.9", next);
	expect_same();
	assert_int_equal(decisions(g), decided);
	link_set(g, WAN, false);
	assert_int_equal(hop_of(g, "10.5.0.9", 0), ROUTER2);
	link_set(g, WAN2, false); // packets go on as by a single next hop
	assert_int_equal(hop_of(g, "10.5.0.9", 0), ROUTER2);
	decided = decisions(g);
	for (unsigned int i = 0; i < 10; i++)
		assert_int_equal(hop_of(g, "10.5.0.9", 0), ROUTER2);
	assert_int_equal(decisions(g), decided); // without the slow path
	link_set(g, WAN, true);
	assert_int_equal(hop_of(g, "10.5.0.9", 0), ROUTER);
	gateway_free(g);
}

static void test_tunnel_goes_down(void **state)
{
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.6.0.9", .sport = 1024));
	struct gateway *g = gateway_new(0, site_hops);
	uint64_t decided;

	(void)state;
	send_flows(g, "10.6.0.9", first);
	decided = tunnel_decisions(g);
	tunnel_set(g, "b", false);
	send_flows(g, "10.6.0.9", next);
	expect_moved_from(PEER_B);
	decided += count(first, PEER_B);
	assert_int_equal(tunnel_decisions(g), decided);
	tunnel_set(g, "b", true);
	memcpy(first, next, FLOWS);
	send_flows(g, "10.6.0.9", next);
	expect_same();
	assert_int_equal(tunnel_decisions(g), decided);
	tunnel_set(g, "b", false);
	tunnel_set(g, "c", false);
	gateway_expect_drop(g, &f, DROP_TUNNEL_DOWN);
	tunnel_set(g, "b", true);
	tunnel_set(g, "c", true);
	send_flows(g, "10.6.0.9", next); // c alone had been up
	expect_same();
	gateway_free(g);
}

// A route that is skipped while its tunnels are down is there as long as one is up.
static void test_skip(void **state)
{
	static const struct {
		bool b, c;
		uint8_t hop;
	} rows[] = {{true, false, PEER_B}, {false, true, PEER_C}, {false, false, ROUTER},
		{true, false, PEER_B}};
	struct gateway *g = gateway_new(0, site_hops);

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(rows); i++) {
		tunnel_set(g, "b", rows[i].b);
		tunnel_set(g, "c", rows[i].c);
		build_routes_skip(g->snapshot);
		for (unsigned int flow = 0; flow < 20; flow++)
			assert_int_equal(hop_of(g, "10.12.0.9", flow), rows[i].hop);
	}
	gateway_free(g);
}

// --- routes that change ---

// As the file has it by via.
static struct hop router(unsigned int last, uint32_t weight)
{
	return (struct hop){.weight = weight,
		.nexthop = {.kind = NEXTHOP_GATEWAY,
			.iface = last == ROUTER2 ? WAN2 : WAN,
			.gateway = ip_addr_from_v4(rte_cpu_to_be_32(
				last == ROUTER2 ? 0xc63364fe : 0xc0000200 | last))}};
}

static struct hop into(const struct gateway *g, const char *name)
{
	return (struct hop){
		.weight = 1, .nexthop = {.kind = NEXTHOP_TUNNEL, .iface = tunnel(g, name)->iface}};
}

static void put(struct gateway *g, const char *to, const struct hop hops[], unsigned int n)
{
	struct hop_groups *groups = route_table_groups(g->snapshot->routes);
	struct route r = {.to = net_of(to), .owner = ROUTE_KERNEL};

	assert_int_equal(nexthop_take(&r.nexthop, groups, hops, n), 0);
	assert_int_equal(route_put(g->snapshot->routes, &r), 0);
	nexthop_release(&r.nexthop, groups);
}

static void delete (struct gateway *g, const char *to)
{
	const struct ip_prefix prefix = net_of(to);

	route_delete(g->snapshot->routes, &prefix, &(struct ip_addr){0}, ROUTE_KERNEL);
}

// After a grace period.
static void release(struct gateway *g)
{
	route_table_release(g->snapshot->routes, route_table_removed(g->snapshot->routes));
}

static void decide_again(struct gateway *g)
{
	route_table_forget(g->snapshot->routes);
	g->snapshot->flow_generation = snapshot_generation_next(g->snapshot->flow_generation);
	release(g);
}

// The flows from and to the prefix lose their decisions.
static void forget(struct gateway *g, const char *prefix)
{
	static struct flow_regions regions;
	const struct ip_prefix p = net_of(prefix);

	flow_regions_add(&regions, &p);
	flow_redecide(g->w->flows, &regions);
	for (unsigned int i = 0; i < 3 * FLOWS * g->conf->n_workers; i++)
		flow_tick(g->w->flows, i % g->conf->n_workers, g->w->now_ms, 4);
}

// One next hop becomes several, with more and more of them, and they become one again, and none.
static void test_group_changes(void **state)
{
	const struct hop hops[] = {router(251, 1), router(252, 1), router(253, 2)};
	struct gateway *g = gateway_new(0, site_hops);
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.8.0.9", .sport = 1024));

	(void)state;
	put(g, "10.8.0.0/16", hops, 1);
	send_flows(g, "10.8.0.9", first);
	for (unsigned int n = 2; n <= COUNT_OF(hops); n++) {
		put(g, "10.8.0.0/16", hops, n);
		release(g);
		send_flows(g, "10.8.0.9", next);
		expect_same();
	}
	put(g, "10.8.0.0/16", hops + 1, 2);
	release(g);
	send_flows(g, "10.8.0.9", first);
	expect_share(first, 252, FLOWS / 3);
	put(g, "10.8.0.0/16", hops, 2);
	release(g);
	send_flows(g, "10.8.0.9", next);
	expect_moved_from(253);
	put(g, "10.8.0.0/16", hops + 1, 1);
	send_flows(g, "10.8.0.9", next);
	assert_int_equal(count(next, 252), FLOWS);
	delete (g, "10.8.0.0/16");
	release(g);
	gateway_expect_drop(g, &f, DROP_NO_ROUTE);
	gateway_free(g);
}

static void test_tunnel_joins(void **state)
{
	struct gateway *g = gateway_new(0, site_hops);
	const struct hop hops[] = {into(g, "b"), into(g, "c")};

	(void)state;
	put(g, "10.8.0.0/16", hops, 1);
	send_flows(g, "10.8.0.9", first);
	assert_int_equal(count(first, PEER_B), FLOWS);
	put(g, "10.8.0.0/16", hops, 2);
	send_flows(g, "10.8.0.9", next);
	expect_same();
	put(g, "10.8.0.0/16", hops + 1, 1);
	send_flows(g, "10.8.0.9", next);
	assert_int_equal(count(next, PEER_C), FLOWS);
	gateway_free(g);
}

// Flows that are not where their hash would send them stay there when all are decided again.
static void test_decided_again(void **state)
{
	struct gateway *g = gateway_new(0, site_hops);

	(void)state;
	link_set(g, WAN, false);
	send_flows(g, "10.5.0.9", first);
	assert_int_equal(count(first, ROUTER2), FLOWS);
	link_set(g, WAN, true);
	for (unsigned int i = 0; i < 3; i++) {
		decide_again(g);
		send_flows(g, "10.5.0.9", next);
		expect_same();
	}
	forget(g, "10.5.0.0/16");
	send_flows(g, "10.5.0.9", next);
	expect_same();
	gateway_reload(g, g->conf);
	send_flows(g, "10.5.0.9", next);
	expect_same();
	gateway_free(g);
}

// A flow of an older generation whose route is gone is decided as a new one, whatever route has its
// number now.
static void test_number_used_again(void **state)
{
	const struct hop hops[] = {router(251, 1), router(252, 1), router(253, 1)};
	struct gateway *g = gateway_new(0, site_hops);

	(void)state;
	put(g, "10.8.0.0/16", hops, 3);
	send_flows(g, "10.8.0.9", first);
	delete (g, "10.8.0.0/16");
	decide_again(g);
	put(g, "10.8.0.0/16", hops, 2);
	send_flows(g, "10.8.0.9", next);
	assert_int_equal(count(next, 251) + count(next, 252), FLOWS);
	delete (g, "10.8.0.0/16");
	decide_again(g);
	put(g, "10.8.0.0/16", hops + 2, 1);
	send_flows(g, "10.8.0.9", next);
	assert_int_equal(count(next, 253), FLOWS);
	gateway_free(g);
}

// Whether packets by the route may go by the hop with this link address.
static bool has(const struct nexthop *nh, uint8_t last, bool up[])
{
	const struct nexthop *hop;
	bool any_up = false, found = false, found_up = false;

	for (unsigned int i = nexthop_first_place(nh); (hop = nexthop_hop(nh, i)) != NULL; i++) {
		bool is = last == (hop->iface == WAN2 ? ROUTER2 : hop->gateway.b[15]);

		any_up |= up[hop->iface];
		found |= is;
		found_up |= is && up[hop->iface];
	}
	return nh->kind == NEXTHOP_SEVERAL && any_up ? found_up : found;
}

// Groups, entries and nodes are used again while flows remember them, links go down and return, and
// all flows are decided again now and then.
static void test_random_changes(void **state)
{
	static const char *const nets[] = {
		"10.8.0.9/32", "10.8.0.8/29", "10.8.0.0/16", "10.9.0.0/16", "10.9.0.9/32"};
	static const char *const dst[] = {"10.8.0.9", "10.8.0.10", "10.8.3.3", "10.9.0.9"};
	const struct hop hops[] = {
		router(251, 1), router(252, 2), router(253, 1), router(254, 1), router(ROUTER2, 1)};
	struct gateway *g = gateway_new(0, site_hops);
	bool up[] = {[WAN] = true, [WAN2] = true};
	uint64_t seed = 1;

	(void)state;
	put(g, "10.0.0.0/8", hops, COUNT_OF(hops));
	for (unsigned int i = 0; i < 20000; i++) {
		const char *to = nets[random_below(&seed, COUNT_OF(nets))];
		const char *a = dst[random_below(&seed, COUNT_OF(dst))];
		unsigned int from = random_below(&seed, COUNT_OF(hops));
		unsigned int n = 1 + random_below(&seed, COUNT_OF(hops) - from);
		uint16_t port = random_below(&seed, 2) == 0 ? WAN : WAN2;
		const struct ip_addr addr = addr_of(a);

		if (random_below(&seed, 3) > 0)
			put(g, to, hops + from, n);
		else
			delete (g, to);
		if (random_below(&seed, 2) == 0)
			release(g);
		if (random_below(&seed, 20) == 0)
			decide_again(g);
		if (random_below(&seed, 5) == 0)
			link_set(g, port, up[port] = !up[port]);
		for (unsigned int k = 0; k < 3; k++)
			assert_true(has(gateway_route(g, &addr),
				hop_of(g, a, random_below(&seed, 20)), up));
	}
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_shares),
		pipeline_test(test_link_goes_down),
		pipeline_test(test_tunnel_goes_down),
		pipeline_test(test_skip),
		pipeline_test(test_group_changes),
		pipeline_test(test_tunnel_joins),
		pipeline_test(test_decided_again),
		pipeline_test(test_number_used_again),
		pipeline_test(test_random_changes),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
