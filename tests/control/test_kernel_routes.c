// SPDX-License-Identifier: BSD-3-Clause
// Routes of the kernel that come and go while SAs send by them.
#include "desk.h"
#include "hop_group.h"
#include "kernel_routes.h"
#include "route_table.h"

static void put(const char *to, const struct nexthop *nexthop)
{
	const struct ip_prefix prefix = net_of(to);

	assert_int_equal(kernel_route_put(&desk, &prefix, nexthop), 0);
}

static void delete (const char *to)
{
	const struct ip_prefix prefix = net_of(to);

	assert_int_equal(kernel_route_delete(&desk, &prefix), 0);
}

static struct nexthop by(const char *gateway)
{
	return (struct nexthop){.kind = NEXTHOP_GATEWAY, .iface = WAN, .gateway = addr_of(gateway)};
}

static const struct nexthop *next_hop(void)
{
	return sa_out_path(desk_sa_out("out-4"))->nexthop;
}

static void test_sas_follow(void **state)
{
	const struct nexthop far = by("192.0.2.9"), other = by("192.0.2.10");
	const struct nexthop *before = next_hop();

	(void)state;
	assert_int_equal(before->kind, NEXTHOP_CONNECTED);
	put("192.0.2.2/32", &far);
	kernel_routes_end(&desk);
	assert_memory_equal(&next_hop()->gateway, &far.gateway, sizeof(far.gateway));
	put("192.0.2.2/32", &other);
	desk_worker_begins();
	kernel_routes_end(&desk);
	assert_memory_equal(&next_hop()->gateway, &other.gateway, sizeof(other.gateway));
	assert_true(desk_waits()); // with the former next hop
	desk_worker_passes();
	desk_wait(100);
	delete ("192.0.2.2/32");
	desk_wait(100);
	assert_ptr_equal(next_hop(), before);
	put("203.0.113.0/24", &far); // unrelated
	kernel_routes_end(&desk);
	assert_ptr_equal(next_hop(), before);
	desk_expect_no_event();
}

// An SA whose peer has no route any more stops sending.
static void test_peer_unreachable(void **state)
{
	const struct nexthop never = {.kind = NEXTHOP_NOT_UNICAST};

	(void)state;
	put("192.0.2.2/32", &never);
	kernel_routes_end(&desk);
	assert_null(next_hop());
	delete ("192.0.2.2/32");
	kernel_routes_end(&desk);
	assert_non_null(next_hop());
}

// ESP packets never go into a tunnel.
static void test_peer_in_tunnel(void **state)
{
	const struct nexthop into = {.kind = NEXTHOP_TUNNEL, .iface = IFACE_TUNNEL_MIN};
	const struct nexthop *before = next_hop();

	(void)state;
	desk.snapshot->iface[IFACE_TUNNEL_MIN].name = "t";
	put("192.0.2.2/32", &into);
	kernel_routes_end(&desk);
	assert_ptr_equal(next_hop(), before);
	desk_expect_event("event=peer_in_tunnel\tseverity=warning\tsa=out-4\tto=192.0.2.2\t"
			  "tunnel=t");
	put("192.0.2.2/32", &into); // posted once
	kernel_routes_end(&desk);
	delete ("192.0.2.2/32");
	kernel_routes_end(&desk);
	desk_expect_no_event();
}

static struct hop hop(const struct nexthop nexthop)
{
	return (struct hop){.nexthop = nexthop, .weight = 1};
}

static struct nexthop by_lan(const char *gateway)
{
	return (struct nexthop){.kind = NEXTHOP_GATEWAY, .iface = LAN, .gateway = addr_of(gateway)};
}

static void put_several(const char *to, const struct hop hops[], unsigned int n)
{
	struct hop_groups *groups = route_table_groups(desk.snapshot->routes);
	struct nexthop nh;

	assert_int_equal(nexthop_take(&nh, groups, hops, n), 0);
	put(to, &nh);
	nexthop_release(&nh, groups);
	kernel_routes_end(&desk);
}

// Of several next hops to its peer, an SA keeps its own while that is up and among them.
static void test_sas_by_several(void **state)
{
	const struct hop hops[] = {hop(by("192.0.2.9")), hop(by_lan("10.1.0.9"))};
	const struct hop more[] = {hops[0], hops[1], hop(by("192.0.2.10")), hop(by("192.0.2.11"))};
	uint16_t port, other;

	(void)state;
	put_several("192.0.2.2/32", hops, RTE_DIM(hops));
	port = next_hop()->iface;
	other = port == WAN ? LAN : WAN;
	desk_link[port] = false;
	desk_wait(1200);
	assert_int_equal(next_hop()->iface, other);
	desk_link[port] = true;
	desk_wait(1200);
	assert_int_equal(next_hop()->iface, other);
	put_several("192.0.2.2/32", more, RTE_DIM(more));
	assert_true(nexthop_equal(next_hop(), &hops[other == LAN].nexthop));
	desk_wait(200); // the former group is freed
	put_several("192.0.2.2/32", &more[2], 2);
	assert_true(nexthop_equal(next_hop(), &more[2].nexthop) ||
		    nexthop_equal(next_hop(), &more[3].nexthop));
	delete ("192.0.2.2/32");
	desk_wait(200);
	assert_int_equal(next_hop()->kind, NEXTHOP_CONNECTED);
	desk_forget();
}

static struct hop tunnel(unsigned int i)
{
	return hop((struct nexthop){
		.kind = NEXTHOP_TUNNEL, .iface = (uint16_t)(IFACE_TUNNEL_MIN + i)});
}

static void test_reload_keeps_them(void **state)
{
	const struct nexthop far = by("192.0.2.9");
	const struct ip_addr there = addr_of("203.0.113.1"), two = addr_of("10.2.0.1");

	(void)state;
	put("203.0.113.0/24", &far);
	put("10.2.0.0/24", &far); // that of the file is used
	kernel_routes_end(&desk);
	desk_reload("audit = \"none\";", "");
	assert_memory_equal(&desk_route(&there)->gateway, &far.gateway, sizeof(far.gateway));
	assert_memory_not_equal(&desk_route(&two)->gateway, &far.gateway, sizeof(far.gateway));
}

static void test_never_a_destination(void **state)
{
	static const struct {
		const char *to, *addr;
	} rows[] = {{"127.1.0.0/16", "127.1.2.3"}, {"224.0.0.0/24", "224.0.0.5"},
		{"0.1.0.0/16", "0.1.2.3"}, {"fe80::/64", "fe80::7"}, {"ff02::/16", "ff02::5"}};
	const struct nexthop far = by("192.0.2.9");

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		const struct ip_addr addr = addr_of(rows[i].addr);

		put(rows[i].to, &far);
		assert_int_equal(desk_route(&addr)->kind, NEXTHOP_NOT_UNICAST);
	}
	kernel_routes_end(&desk);
}

static const struct nexthop on_wan = {.kind = NEXTHOP_CONNECTED, .iface = WAN};

// A flow between two addresses, with a decision for its first packets.
static struct flow *decided_flow(const char *from, const char *to)
{
	const struct flow_decision d = {.egress = flow_egress_clear(&on_wan), .ingress = LAN};
	struct flow_pkt p = {.key.addr = {addr_of(from), addr_of(to)},
		.key.proto = IPPROTO_UDP,
		.key.port = {1, 2},
		.v4 = true};
	struct flow *f;

	flow_lookup_start(desk.flows, &p);
	f = flow_find(desk.flows, &p);
	if (f == NULL)
		assert_int_equal(flow_insert(desk.flows, 0, &p, NULL, 0, 1, NULL, &f), DROP_NONE);
	flow_decision_set(f, 0, desk_flow_generation(), &d);
	return f;
}

static bool has_decision(const struct flow *f)
{
	struct flow_decision d;

	return flow_decision_get(f, 0, desk_flow_generation(), &d);
}

static void round_of_flows(void)
{
	for (unsigned int i = 0; i < 100; i++)
		flow_tick(desk.flows, 0, 1, 64);
}

static void all_decided_again(void)
{
	desk_wait(100);
	desk_worker_passes();
	desk_wait(100);
	for (unsigned int i = 0; i < 3; i++)
		round_of_flows();
}

// A route that drops counts as inside, unlike none, and its length counts.
static void test_routes_that_drop(void **state)
{
	static const char *const to[] = {"2001:db8:77::/48", "2001:db8:77::/64"};
	const struct nexthop nowhere = {.kind = NEXTHOP_BLACKHOLE};

	(void)state;
	desk_worker_begins();
	for (unsigned int i = 0; i < COUNT_OF(to); i++) {
		const struct flow *f = decided_flow("2001:db8:77::5", "2001:db8:1::5");

		put(to[i], &nowhere);
		all_decided_again();
		assert_false(has_decision(f));
	}
}

// NULL: by the default route.
static void lead(const struct nexthop *nexthop)
{
	const struct ip_prefix prefix = net_of("203.0.113.0/24");

	if (nexthop != NULL)
		put("203.0.113.0/24", nexthop);
	else
		kernel_route_delete(&desk, &prefix);
}

// A route that alters which sources are admitted, or whether policies apply, has the flows of its
// region decided again, when no worker goes by the former one.
static void test_flows_of_its_region(void **state)
{
	const struct nexthop lan = {.kind = NEXTHOP_CONNECTED, .iface = LAN},
			     lan_router = {.kind = NEXTHOP_GATEWAY,
				     .iface = LAN,
				     .gateway = addr_of("10.1.0.9")},
			     wan = by("192.0.2.9"),
			     one = {.kind = NEXTHOP_TUNNEL, .iface = IFACE_TUNNEL_MIN},
			     other = {.kind = NEXTHOP_TUNNEL, .iface = IFACE_TUNNEL_MIN + 2},
			     nowhere = {.kind = NEXTHOP_BLACKHOLE};
	const struct {
		const char *text;
		const struct nexthop *before, *after; // NULL: the default route by the WAN
		bool redecided;
	} rows[] = {
		{"another router", NULL, &wan, false},
		{"the default route again", &wan, NULL, false},
		{"into a tunnel", NULL, &one, true},
		{"the same tunnel", &one, &one, false},
		{"from tunnel to tunnel", &one, &other, true},
		{"out of a tunnel", &other, NULL, true},
		{"nowhere", &wan, &nowhere, true},
		{"nowhere in another way", &nowhere, &nowhere, false},
		{"to the protected side", NULL, &lan, true},
		{"on the protected side", &lan, &lan_router, false},
	};

	(void)state;
	desk_worker_begins();
	for (unsigned int i = 0; i < COUNT_OF(rows); i++) {
		const uint32_t generation = desk_flow_generation();
		struct flow *to, *from, *neither;

		print_message("%s\n", rows[i].text);
		lead(rows[i].before);
		all_decided_again();
		to = decided_flow("10.1.0.5", "203.0.113.5");
		from = decided_flow("203.0.77.7", "198.51.100.1");
		neither = decided_flow("10.1.0.5", "198.51.100.1");
		lead(rows[i].after);
		desk_wait(200);
		round_of_flows();
		assert_true(has_decision(to)); // the worker may still decide by the former route
		all_decided_again();
		assert_int_equal(has_decision(to), !rows[i].redecided);
		assert_int_equal(has_decision(from), !rows[i].redecided);
		assert_true(has_decision(neither));
		assert_int_equal(desk_flow_generation(), generation);
	}
}

// Flows notice by themselves whether their hop is among several. They are decided again only if the
// route does not admit all sources that it has admitted before, or other policies apply.
static void test_groups_and_decisions(void **state)
{
	const struct hop lan = hop(by_lan("10.1.0.9")), lan2 = hop(by_lan("10.1.0.10"));
	const struct hop wan = hop(by("192.0.2.9")), wan2 = hop(by("192.0.2.10"));
	const struct {
		struct hop hops[3];
		unsigned int n;
		bool decide;
	} rows[] = {
		{{wan}, 1, false}, // as the default route
		{{wan, wan2}, 2, false},
		{{wan2}, 1, false},
		{{lan, wan2}, 2, false}, // not all hops are protected
		{{lan}, 1, true},
		{{lan, lan2}, 2, false},
		{{lan2}, 1, false},
		{{tunnel(1)}, 1, true},
		{{tunnel(1), tunnel(2)}, 2, false},
		{{tunnel(1), tunnel(2), tunnel(3)}, 3, false},
		{{tunnel(3), tunnel(2)}, 2, true}, // not out of tunnel 1 any more
		{{tunnel(2), tunnel(3)}, 2, false},
		{{tunnel(1)}, 1, true},
		{{wan, wan2}, 2, true},
	};
	const uint32_t generation = desk_flow_generation();

	(void)state;
	desk_worker_begins();
	put_several("203.0.0.0/16", &wan, 1); // which the rows' route covers
	all_decided_again();
	for (unsigned int i = 0; i < COUNT_OF(rows); i++) {
		struct flow *f = decided_flow("10.1.0.5", "203.0.113.5");

		put_several("203.0.113.0/24", rows[i].hops, rows[i].n);
		all_decided_again();
		if (has_decision(f) == rows[i].decide)
			fail_msg("row %u", i);
	}
	assert_int_equal(desk_flow_generation(), generation);
}

// A policy for a network is more specific than some routes to the protected side, and not than
// others.
static void test_length_on_the_protected_side(void **state)
{
	const struct hop lan = hop(by_lan("10.1.0.9"));
	struct flow *f;

	(void)state;
	desk_worker_begins();
	put_several("203.0.0.0/16", &lan, 1);
	put_several("203.0.113.0/24", &lan, 1);
	all_decided_again();
	f = decided_flow("10.1.0.5", "203.0.113.5");
	delete ("203.0.113.0/24");
	all_decided_again();
	assert_false(has_decision(f));
}

// Too many routes that have left the table are remembered by flows: these have to forget.
static void test_too_many_remembered(void **state)
{
	const struct nexthop router[] = {by("192.0.2.9"), by("192.0.2.10")};
	const struct ip_addr from = addr_of("10.1.0.5"), to = addr_of("203.0.113.5");
	const uint32_t generation = desk_flow_generation();
	unsigned int n = 0;

	(void)state;
	for (; desk_flow_generation() == generation && n < 200000; n++) {
		put("203.0.113.0/24", &router[n % 2]);
		route_remember(desk.snapshot->routes, &from, &to, desk_route(&to));
		if (n % 1000 == 0)
			desk_wait(100);
	}
	assert_in_range(n, 100000, 199999);
	assert_int_equal(desk_flow_generation(), generation + 1);
}

// A reload lets numbers of routes be used again that flows remember if none keeps its decision.
static void test_reload_forgets(void **state)
{
	const struct nexthop router[] = {by("192.0.2.9"), by("192.0.2.10")};
	const struct ip_addr from = addr_of("10.1.0.5"), to = addr_of("203.0.113.5");
	const struct limbo *limbo = &desk.snapshot->routes->limbo_routes;

	(void)state;
	put("203.0.113.0/24", &router[0]);
	route_remember(desk.snapshot->routes, &from, &to, desk_route(&to));
	put("203.0.113.0/24", &router[1]);
	desk_wait(100);
	assert_int_equal(limbo->n, 1);
	desk_reload("", "");
	assert_int_equal(limbo->n, 1);
	desk.ike.redecide = true;
	desk_reload("", "");
	assert_int_equal(desk.snapshot->carried, 0);
	assert_int_equal(limbo->n, 0);
}

// A reload carries no decision about a region whose flows are to be decided again, but are not yet.
static void test_reload_before_grace(void **state)
{
	const struct nexthop lan = by_lan("10.1.0.9");
	const struct ip_addr to = addr_of("203.0.113.5");

	(void)state;
	desk_worker_begins();
	put("203.0.113.0/24", &lan);
	kernel_routes_end(&desk);
	desk_reload("", "");
	assert_int_not_equal(desk.snapshot->carried, 0);
	assert_true(flow_regions_have(&desk.snapshot->carry->regions, &to));
	desk_worker_passes();
	desk_wait(100);
	desk_reload("", "");
	assert_int_not_equal(desk.snapshot->carried, 0);
	assert_false(flow_regions_have(&desk.snapshot->carry->regions, &to));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		desk_test(test_sas_follow),
		desk_test(test_peer_unreachable),
		desk_test(test_peer_in_tunnel),
		desk_test(test_sas_by_several),
		desk_test(test_groups_and_decisions),
		desk_test(test_length_on_the_protected_side),
		desk_test(test_reload_keeps_them),
		desk_test(test_never_a_destination),
		desk_test(test_flows_of_its_region),
		desk_test(test_routes_that_drop),
		desk_test(test_too_many_remembered),
		desk_test(test_reload_forgets),
		desk_test(test_reload_before_grace),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
