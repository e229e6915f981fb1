// SPDX-License-Identifier: BSD-3-Clause
// Routes that change while flows go by them. A flow notices with its next packet; others are not
// decided again.
//
//   10.1.0.0/24 --[LAN] gateway [WAN]-- 192.0.2.251 to .254, routers; the last one by default
#include "addrs.h"
#include "harness.h"
#include "route_change.h"

enum { LAN, WAN };

#define FIRST 251 // last octet of the first router
#define LAST  254

static const char text[] =
	"cpus = { workers = [ 1 ]; }; memory = { size = 64; hugepages = false; }; flows = { max = "
	"1024; };\n"
	"state_dir = \"/nowhere\";\n"
	"ports = (\n"
	"  { name = \"lan\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/24\" ]; },\n"
	"  { name = \"wan\"; device = \"net_null1\"; addresses = [ \"192.0.2.1/24\" ]; } );\n"
	"routes = ( { to = \"0.0.0.0/0\"; via = \"192.0.2.254\"; } );\n"
	"neighbours = (\n"
	"  { address = \"192.0.2.251\"; mac = \"02:00:00:00:01:fb\"; },\n"
	"  { address = \"192.0.2.252\"; mac = \"02:00:00:00:01:fc\"; },\n"
	"  { address = \"192.0.2.253\"; mac = \"02:00:00:00:01:fd\"; },\n"
	"  { address = \"192.0.2.254\"; mac = \"02:00:00:00:01:fe\"; } );\n"
	"policies = ( { name = \"clear\"; action = \"bypass\"; } );\n";

static void put(struct gateway *g, const char *to, unsigned int router)
{
	const struct route r = {.to = net_of(to),
		.owner = ROUTE_KERNEL,
		.nexthop = {.kind = NEXTHOP_GATEWAY,
			.iface = WAN,
			.gateway = ip_addr_from_v4(rte_cpu_to_be_32(0xc0000200 | router))}};

	assert_int_equal(route_put(g->snapshot->routes, &r), 0);
}

static bool delete (struct gateway *g, const char *to)
{
	const struct ip_prefix prefix = net_of(to);

	return route_delete(g->snapshot->routes, &prefix, &(struct ip_addr){0}, ROUTE_KERNEL) == 0;
}

// The router that a packet to the address is sent to.
static unsigned int router_of(struct gateway *g, const char *dst)
{
	const struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", dst));

	gateway_pass(g, &f, 1);
	expect_all_sent(g, 1, WAN);
	return g->sent[0].b[5];
}

static uint64_t decisions(const struct gateway *g)
{
	return gateway_policy_decided(g, "clear").asked;
}

static void release(struct gateway *g)
{
	route_table_release(g->snapshot->routes, route_table_removed(g->snapshot->routes));
}

static void test_noticed_by_next_packet(void **state)
{
	struct gateway *g = gateway_new(0, text);
	unsigned int n = 0;

	(void)state;
	assert_int_equal(router_of(g, "203.0.113.5"), 254);
	assert_int_equal(router_of(g, "203.0.113.5"), 254);
	assert_int_equal(decisions(g), ++n);
	put(g, "203.0.113.0/24", 253); // a longer prefix
	assert_int_equal(router_of(g, "203.0.113.5"), 253);
	put(g, "203.0.113.0/24", 252); // another next hop
	assert_int_equal(router_of(g, "203.0.113.5"), 252);
	put(g, "203.0.113.5/32", 251);
	assert_int_equal(router_of(g, "203.0.113.5"), 251);
	assert_int_equal(router_of(g, "203.0.113.5"), 251);
	assert_true(delete (g, "203.0.113.5/32"));
	assert_int_equal(router_of(g, "203.0.113.5"), 252);
	assert_true(delete (g, "203.0.113.0/24"));
	assert_int_equal(router_of(g, "203.0.113.5"), 254);
	assert_int_equal(decisions(g), n + 5);
	gateway_free(g);
}

static void test_unrelated_changes(void **state)
{
	struct gateway *g = gateway_new(0, text);
	char to[32];

	(void)state;
	assert_int_equal(router_of(g, "203.0.113.5"), 254);
	put(g, "198.51.100.0/24", 253);
	assert_int_equal(router_of(g, "198.51.100.7"), 253);
	for (unsigned int i = 0; i < 1000; i++) {
		snprintf(to, sizeof(to), "203.0.%u.%u/32", i % 113, i % 200);
		put(g, to, FIRST + i % 4);
		if (i % 3 == 0)
			delete (g, to);
		if (i % 10 == 0)
			release(g);
	}
	assert_int_equal(router_of(g, "203.0.113.5"), 254);
	assert_int_equal(router_of(g, "198.51.100.7"), 253);
	assert_int_equal(decisions(g), 2);
	gateway_free(g);
}

// Nodes and numbers of routes are used again while flows remember them.
static void test_reuse(void **state)
{
	static const char *const dst[] = {
		"203.0.113.5", "203.0.113.9", "203.0.5.5", "198.51.100.7"};
	static const char *const nets[] = {"203.0.113.5/32", "203.0.113.0/29", "203.0.113.0/24",
		"203.0.0.0/16", "203.0.5.0/28", "198.51.100.0/24", "198.51.100.7/32",
		"198.0.0.0/8"};
	struct gateway *g = gateway_new(0, text);
	uint64_t seed = 1;

	(void)state;
	for (unsigned int i = 0; i < 5000; i++) {
		const char *to = nets[random_below(&seed, COUNT_OF(nets))];
		const char *a = dst[random_below(&seed, COUNT_OF(dst))];
		const struct ip_addr addr = addr_of(a);

		if (random_below(&seed, 2) == 0)
			put(g, to, FIRST + random_below(&seed, LAST - FIRST + 1));
		else
			delete (g, to);
		if (random_below(&seed, 3) == 0)
			release(g);
		if (random_below(&seed, 3) > 0)
			assert_int_equal(router_of(g, a), gateway_route(g, &addr)->gateway.b[15]);
	}
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_noticed_by_next_packet),
		pipeline_test(test_unrelated_changes),
		pipeline_test(test_reuse),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
