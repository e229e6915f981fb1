// SPDX-License-Identifier: BSD-3-Clause
// TCP segments larger than the MTU, which the other end of a port leaves to the gateway to cut.
// Proves that one look-up decides about each, and that the parts fit their path, with the
// size, headers and order that the other end has chosen.
#include <netinet/in.h>

#include "large.h"
#include "site_transport.h"
#include "steps.h"

static void test_in_clear(void **state)
{
	struct gateway *g = site_a((struct site){0});
	const struct large all = {.dst = FAR,
		.len = IP_MAX - ETH_LEN,
		.size = 1460,
		.flags = FIN | PSH | ACK | CWR,
		.frag = DF};
	struct large l = all;

	(void)state;
	check_parts(g, l, NULL);
	for (l.len = 1501; l.len < 1501 + 1460; l.len += 97) // of two
		check_parts(g, l, NULL);
	for (l.size = 1400; l.size < 1460; l.size += 7)
		check_parts(g, l, NULL);
	gateway_free(g);
	g = site_v6_a(OVER_V4, (struct site){0});
	l = (struct large){
		.v6 = true, .dst = "2001:db8:9::5", .len = 60000, .size = 1440, .flags = PSH | ACK};
	check_parts(g, l, NULL);
	gateway_free(g);
}

// A host whose peer has announced small segments leaves those to be cut as well.
static void test_packet_below_the_mtu(void **state)
{
	struct gateway *g = site_a((struct site){0});
	const struct large l = {.dst = FAR, .len = 1300, .size = 500, .flags = PSH | ACK};

	(void)state;
	check_parts(g, l, NULL);
	check_parts(g, (struct large){.dst = FAR, .len = 1300, .size = 1260}, NULL); // one
	check_parts(g, (struct large){.dst = FAR, .len = 1300, .size = 65535}, NULL);
	gateway_free(g);
}

// It arrives in these parts at the other gateway's LAN.
static void check_across(struct gateway *a, struct gateway *b, struct large l)
{
	static struct frame wire[RX_BURST_MAX];
	uint32_t payload = 0;
	unsigned int n;

	large_pass(a, l);
	expect_drops(a, DROP_NONE, 0);
	n = a->n_sent;
	assert_int_equal(n, large_parts(l, l.size));
	for (unsigned int i = 0; i < n; i++)
		wire[i] = frame_carry(&a->sent[i]);
	gateway_pass(b, wire, n);
	expect_all_sent(b, n, LAN);
	for (unsigned int i = 0; i < n; i++)
		payload +=
			large_part(l, frame_packet(&b->sent[i]), frame_packet_len(&b->sent[i]), i);
	assert_int_equal(payload, l.len - large_head(l) - TCP_LEN);
}

static void test_through_a_tunnel(void **state)
{
	(void)state;
	for (enum outer outer = OVER_V4; outer <= OVER_V6; outer++) {
		struct gateway *a = site_v6_a(outer, (struct site){0}),
			       *b = site_v6_b(outer, (struct site){0});

		check_across(a, b, (struct large){.len = 64000, .size = 1300, .frag = DF});
		check_across(a, b, (struct large){.v6 = true, .len = 64000, .size = 1280});
		gateway_free(a);
		gateway_free(b);
	}
}

// The flow is looked up once, and counts the received packet.
static void test_decided_once(void **state)
{
	struct gateway *g = site_a((struct site){0});
	const struct large l = {.len = 60000, .size = 1300};
	struct decided policy;

	(void)state;
	large_pass(g, l);
	assert_int_equal(gateway_lookups(g), 1);
	policy = gateway_policy_decided(g, "b");
	assert_int_equal(policy.packets, 1);
	assert_int_equal(policy.octets, 60000);
	large_pass(g, l);
	assert_int_equal(gateway_lookups(g), 1);
	policy = gateway_policy_decided(g, "b");
	assert_int_equal(policy.packets, 2);
	assert_int_equal(policy.octets, 120000);
	gateway_free(g);
}

// A small segment that follows a large one of its connection is sent after it.
static void test_order(void **state)
{
	struct gateway *g = site_a((struct site){0});
	const struct large l = {.dst = FAR, .len = 30040, .size = 1000},
			   next = {.dst = FAR, .len = 540, .size = 1000, .seq = ISN + 30000};
	struct rte_mbuf *m[3] = {large_mbuf(l), large_mbuf(next), large_mbuf(l)};

	(void)state;
	m[1]->ol_flags &= ~RTE_MBUF_F_RX_LRO;
	gateway_pass_mbufs(g, m, 3);
	expect_all_sent(g, 61, WAN);
	for (uint32_t i = 0; i < 61; i++)
		assert_int_equal(be32(frame_packet(&g->sent[i]) + IP_LEN + 4),
			i <= 30 ? ISN + 1000 * i : ISN + 1000 * (i - 31));
	gateway_free(g);
}

// More parts than a burst has room for.
static void test_many(void **state)
{
	struct gateway *g = site_a((struct site){0});
	const struct large l = {.dst = FAR, .len = 40 + 45 * 1000, .size = 1000};
	struct rte_mbuf *m[40];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(m); i++)
		m[i] = large_mbuf(l);
	gateway_pass_mbufs(g, m, COUNT_OF(m));
	expect_all_sent(g, COUNT_OF(m) * 45, WAN);
	gateway_free(g);
}

static void test_traced(void **state)
{
	struct gateway *g = site_a((struct site){0});

	(void)state;
	gateway_trace(g, NULL, 1);
	large_pass(g, (struct large){.len = 2040, .size = 1000});
	EXPECT_STEPS(g, 1, TRACE_INPUT, TRACE_COMPLETED, TRACE_FLOW_NONE, TRACE_POLICY_PROTECT,
		TRACE_RULE_ACCEPT, TRACE_CUT, TRACE_SEALED, TRACE_SEALED, TRACE_SENT, TRACE_SENT);
	assert_int_equal(find_step(g, TRACE_CUT)->pieces, 2);
	gateway_free(g);
}

// --- the MTU ---

static uint16_t mtu_to_b(const struct gateway *g)
{
	return sa_out_path(gateway_sa_out(g, "out"))->mtu;
}

// The parts have DF or are of IPv6: their sender has to learn of the path MTU.
static void test_parts_exceed_the_path(void **state)
{
	struct gateway *g = site_v6_a(OVER_V4, (struct site){0});
	struct large l = {.len = 64000, .size = 1460, .frag = DF};
	const uint16_t mtu = mtu_to_b(g);
	struct peer peer = peer_new(g, "out");

	(void)state;
	large_pass(g, l);
	expect_drops(g, DROP_TOO_BIG, 1);
	expect_all_sent(g, 1, LAN);
	assert_int_equal(be16(frame_packet(&g->sent[0]) + IP_LEN + 6), mtu);
	l.size = (uint16_t)(mtu - IP_LEN - TCP_LEN + 1);
	large_pass(g, l);
	expect_drops(g, DROP_TOO_BIG, 1);
	l.size--;
	check_parts(g, l, &peer);
	l = (struct large){.v6 = true, .len = 64000, .size = 1440};
	large_pass(g, l);
	expect_drops(g, DROP_TOO_BIG, 1);
	expect_all_sent(g, 1, LAN);
	assert_int_equal(be32(frame_packet(&g->sent[0]) + IP6_LEN + 4), mtu);
	l.size = (uint16_t)(mtu - IP6_LEN - TCP_LEN);
	check_parts(g, l, &peer);
	peer_free(&peer);
	gateway_free(g);
}

// Without DF, the parts become as large as the path allows, and no fragments.
static void test_without_df(void **state)
{
	struct gateway *g = site_v6_a(OVER_V4, (struct site){0});
	const struct large l = {.len = 64000, .size = 1460};
	const uint16_t size = (uint16_t)(mtu_to_b(g) - IP_LEN - TCP_LEN);
	struct peer peer = peer_new(g, "out");

	(void)state;
	large_pass(g, l);
	expect_parts(g, l, &peer, large_parts(l, size), size);
	peer_free(&peer);
	gateway_free(g);
	g = site_v6_a(OVER_V4, (struct site){.sa_out = "fragment = \"after\";"});
	peer = peer_new(g, "out");
	large_pass(g, l);
	expect_parts(g, l, &peer, large_parts(l, size), size);
	peer_free(&peer);
	gateway_free(g);
}

// The SA encapsulates packets with DF that exceed the path, and fragments ESP: so also each part,
// which arrives as it would without cutting. A part that no buffer holds is none.
static void test_df_clear(void **state)
{
	const struct site s = {.sa_out = "df = \"clear\";"};
	struct gateway *a = site_v6_a(OVER_V4, s), *b = site_v6_b(OVER_V4, s);
	struct large l = {.len = 6040, .size = 1460, .frag = DF};
	static struct frame wire[16];
	unsigned int n;

	(void)state;
	large_pass(a, l);
	expect_drops(a, DROP_NONE, 0);
	n = a->n_sent;
	assert_int_equal(n, 2 * 4 + 1);
	for (unsigned int i = 0; i < n; i++)
		wire[i] = frame_carry(&a->sent[i]);
	gateway_pass(b, wire, n);
	expect_all_sent(b, 5, LAN);
	for (unsigned int i = 0; i < 5; i++)
		large_part(l, frame_packet(&b->sent[i]), frame_packet_len(&b->sent[i]), i);
	l = (struct large){.len = 60000, .size = 30000, .frag = DF};
	large_pass(a, l);
	expect_drops(a, DROP_FRAGMENT_FAILED, 1);
	gateway_free(a);
	gateway_free(b);
}

static void test_transport_mode(void **state)
{
	const struct site s = {.policies =
				       "{ name = \"tcp\"; proto = \"tcp\"; action = \"protect\";"
				       "  out = \"o1\"; in = \"i1\"; },"};
	struct gateway *a = site_transport(1, s), *b = site_transport(2, s);
	struct large l = {.len = 60000, .size = 1460, .frag = DF};

	(void)state;
	large_pass(a, l);
	expect_drops(a, DROP_TOO_BIG, 1);
	assert_int_equal(be16(frame_packet(&a->sent[0]) + IP_LEN + 4), 0);
	l.size = (uint16_t)(be16(frame_packet(&a->sent[0]) + IP_LEN + 6) - IP_LEN - TCP_LEN);
	check_across(a, b, l);
	l.frag = 0;
	check_across(a, b, l);
	gateway_free(a);
	gateway_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_in_clear),
		pipeline_test(test_packet_below_the_mtu),
		pipeline_test(test_through_a_tunnel),
		pipeline_test(test_decided_once),
		pipeline_test(test_order),
		pipeline_test(test_many),
		pipeline_test(test_traced),
		pipeline_test(test_parts_exceed_the_path),
		pipeline_test(test_without_df),
		pipeline_test(test_df_clear),
		pipeline_test(test_transport_mode),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
