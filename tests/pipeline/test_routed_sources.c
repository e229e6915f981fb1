// SPDX-License-Identifier: BSD-3-Clause
// Sources of packets out of tunnels that routes lead into, beside policies, while routes change:
// the flows of their regions are decided again.
#include "addrs.h"
#include "route_change.h"
#include "site_routed.h"

// A policy "d" takes the place of the tunnel "c", whose network is routed into "b".
static struct gateway *with_policy(const char *remote)
{
	static const char tunnel[] = ",\n  { name = \"c\"; out = \"to-c\"; in = \"from-c\"; } );\n"
				     "policies = (",
			  policy[] = " );\npolicies = ( { name = \"d\"; action = \"protect\"; "
				     "local = \"10.1.0.0/24\"; remote = \"%s\"; "
				     "out = \"to-c\"; in = \"from-c\"; }, ",
			  route[] = "tunnel = \"c\"; }";
	char text[4096], changed[4096], d[256];
	char *at;

	site_routed_conf(text, sizeof(text), "", "");
	at = strstr(text, route);
	assert_non_null(at);
	memcpy(at, "tunnel = \"b\"; }", strlen(route));
	at = strstr(text, tunnel);
	assert_non_null(at);
	snprintf(d, sizeof(d), policy, remote);
	snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(at - text), text, d,
		at + strlen(tunnel));
	return gateway_new(0, changed);
}

// The SA of a policy does not deliver a source that is routed into a tunnel, though its policy is
// more specific than that route.
static void test_source_out_of_policy(void **state)
{
	struct gateway *g = with_policy("10.2.7.0/24");
	struct frame f = site_routed_out_of(g, "from-c", 1, "10.2.7.7");

	(void)state;
	site_routed_expect_dropped(g, &f, DROP_IP_SOURCE);
	gateway_free(g);
}

// A route leads the prefix to where another address is, and the flows of its region are decided
// again.
static void lead(struct gateway *g, const char *to, const char *like)
{
	const struct ip_addr other = addr_of(like);
	const struct route r = {
		.to = net_of(to), .owner = ROUTE_KERNEL, .nexthop = *gateway_route(g, &other)};
	static struct flow_regions regions;

	assert_int_equal(route_put(g->snapshot->routes, &r), 0);
	regions = (struct flow_regions){.any = false};
	flow_regions_add(&regions, &r.to);
	flow_redecide(g->flows, &regions);
	for (unsigned int i = 0; i < 60; i++) {
		g->now += TSC_HZ / 1000;
		gateway_pass(g, NULL, 0);
	}
}

static void test_source_moves_to_another_tunnel(void **state)
{
	struct gateway *g = site_routed("", "");
	struct frame f;

	(void)state;
	for (unsigned int seq = 1; seq < 4; seq++) {
		f = site_routed_out_of(g, "from-b", seq, "10.2.7.7");
		gateway_pass(g, &f, 1);
		expect_all_sent(g, 1, LAN);
	}
	lead(g, "10.2.7.0/24", "10.3.7.7");
	f = site_routed_out_of(g, "from-b", 4, "10.2.7.7");
	site_routed_expect_dropped(g, &f, DROP_TUNNEL_SOURCE);
	f = site_routed_out_of(g, "from-c", 1, "10.2.7.7");
	gateway_pass(g, &f, 1);
	expect_all_sent(g, 1, LAN);
	gateway_free(g);
}

static void test_route_takes_over_from_policy(void **state)
{
	struct gateway *g = with_policy("10.7.0.0/24");

	(void)state;
	site_routed_expect_into(g, "10.7.0.7", "to-c");
	site_routed_expect_into(g, "10.7.0.7", "to-c");
	lead(g, "10.7.0.0/16", "10.2.7.7");
	site_routed_expect_into(g, "10.7.0.7", "to-b");
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_source_out_of_policy),
		pipeline_test(test_source_moves_to_another_tunnel),
		pipeline_test(test_route_takes_over_from_policy),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
