// SPDX-License-Identifier: BSD-3-Clause
// Packets from networks to which several next hops lead, and packets of the gateway to them.
#include <netinet/in.h>

#include "match.h"
#include "peer.h"
#include "site_hops.h"

// The route back leads into either tunnel.
static void test_source(void **state)
{
	static const struct {
		const char *sa, *src;
		enum drop drop;
	} rows[] = {
		{"from-b", "10.6.0.9", DROP_NONE},
		{"from-c", "10.6.0.9", DROP_NONE},
		{"from-b", "10.7.0.9", DROP_TUNNEL_SOURCE},
		{"from-b", "10.5.0.9", DROP_TUNNEL_SOURCE},
	};
	struct gateway *g = gateway_new(0, site_hops);
	struct frame f = frame_ip(WAN, (struct ipv4)FROM_TO("10.6.0.9", "10.1.0.5"));

	(void)state;
	gateway_pass(g, &f, 1);
	expect_drops(g, DROP_IP_SOURCE, 1);
	for (uint32_t i = 0; i < COUNT_OF(rows); i++) {
		struct peer peer = peer_new(g, rows[i].sa);

		f = peer_seal_ip(&peer, 1 + i, (struct ipv4)FROM_TO(rows[i].src, "10.1.0.5"));
		gateway_pass(g, &f, 1);
		assert_int_equal(g->n_sent, rows[i].drop == DROP_NONE);
		if (rows[i].drop != DROP_NONE)
			expect_drops(g, rows[i].drop, 1);
		peer_free(&peer);
	}
	gateway_free(g);
}

// An error to a host behind several routers, and one about a packet that was sent by one of two.
static void test_own_packets(void **state)
{
	struct frame f = frame_ip(WAN, (struct ipv4)FROM_TO("10.5.0.9", "10.1.0.5", .ttl = 1));
	struct gateway *g = gateway_new(0, site_hops);

	(void)state;
	gateway_expect_drop(g, &f, DROP_TTL);
	assert_int_equal(g->n_sent, 1);
	gateway_free(g);
}

static void test_match(void **state)
{
	struct match_query q = {.proto = IPPROTO_UDP, .source_port = 1024};
	struct gateway *g = gateway_new(0, site_hops);
	struct match m;

	(void)state;
	ip_addr_parse(&q.source, "10.1.0.5");
	ip_addr_parse(&q.destination, "10.5.0.9");
	assert_int_equal(match_run(&m, g->w, g->snapshot, &q), 0);
	assert_int_equal(m.reason, DROP_NONE);
	assert_int_equal(m.nexthop->kind, NEXTHOP_GATEWAY);
	ip_addr_parse(&q.destination, "10.1.0.5");
	ip_addr_parse(&q.source, "10.6.0.9");
	assert_int_equal(match_run(&m, g->w, g->snapshot, &q), 0);
	assert_int_equal(m.reason, DROP_NONE);
	assert_non_null(m.sa_in);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_source),
		pipeline_test(test_own_packets),
		pipeline_test(test_match),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
