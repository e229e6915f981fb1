// SPDX-License-Identifier: BSD-3-Clause
// The largest packets, and segments of TCP, into tunnels that routes lead into.
#include "line_memory.h"
#include "peer.h"
#include "site_routed.h"

static void expect_too_big(struct gateway *g, uint16_t mtu)
{
	struct frame f =
		frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.7.7", .len = 700, .frag = DF));

	gateway_pass(g, &f, 1);
	expect_all_sent(g, 1, LAN);
	assert_int_equal(g->sent[0].b[ETH_LEN + IP_LEN], 3); // RFC 1191 4
	assert_int_equal(g->sent[0].b[ETH_LEN + IP_LEN + 1], 4);
	assert_int_equal(be16(g->sent[0].b + ETH_LEN + IP_LEN + 6), mtu);
}

// The gateway sends an ICMP error with the MTU, or fragments the packet before it is put into ESP.
static void test_mtu(void **state)
{
	struct gateway *g = site_routed("mtu = 600;", "");
	struct peer peer = peer_new(g, "to-b");
	uint8_t inner[FRAME_MAX];
	struct frame f;

	(void)state;
	expect_too_big(g, 600);
	f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.7.7", .len = 700));
	gateway_pass(g, &f, 1);
	expect_all_sent(g, 2, WAN);
	assert_in_range(peer_open(&peer, &g->sent[0], inner), 500, 600);
	f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.7.7", .len = 600, .frag = DF));
	gateway_pass(g, &f, 1);
	expect_all_sent(g, 1, WAN);
	f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.3.7.7", .len = 700, .frag = DF));
	gateway_pass(g, &f, 1); // into the other tunnel
	expect_all_sent(g, 1, WAN);
	peer_free(&peer);
	gateway_free(g);
}

// The smaller of the two counts.
static void test_mtu_and_path_mtu(void **state)
{
	struct gateway *g = site_routed("mtu = 600;", "");
	struct sa_out *sa = gateway_sa_out(g, "to-b");

	(void)state;
	line_free(sa_out_path_set(sa, sa_path_resized(&sa->sa, sa_out_path(sa), 576)));
	expect_too_big(g, 522);
	line_free(sa_out_path_set(sa, sa_path_resized(&sa->sa, sa_out_path(sa), 1500)));
	expect_too_big(g, 600);
	gateway_free(g);
}

// With fragment = "after" the peer gets packets above the MTU whole, as above that of the path.
static void test_mtu_whole(void **state)
{
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.7.7", .len = 700));
	struct gateway *g = site_routed("mtu = 600;", "");
	struct peer peer = peer_new(g, "to-b");
	uint8_t inner[FRAME_MAX];

	(void)state;
	gateway_sa_out(g, "to-b")->sa.per_packet.fragment_after = true;
	gateway_pass(g, &f, 1);
	expect_all_sent(g, 1, WAN);
	assert_int_equal(peer_open(&peer, &g->sent[0], inner), 700);
	peer_free(&peer);
	gateway_free(g);
}

// Also with df = "clear", which is for the path: the limit is about links after the peer.
static void test_mtu_with_df_clear(void **state)
{
	struct frame f =
		frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.7.7", .len = 590, .frag = DF));
	struct gateway *g = site_routed("mtu = 600;", "");
	struct sa_out *sa = gateway_sa_out(g, "to-b");

	(void)state;
	sa->sa.per_packet.df_copied = 0;
	expect_too_big(g, 600);
	line_free(sa_out_path_set(sa, sa_path_resized(&sa->sa, sa_out_path(sa), 576)));
	expect_too_big(g, 522);
	gateway_pass(g, &f, 1); // as fragments of an ESP packet
	expect_all_sent(g, 2, WAN);
	gateway_free(g);
}

static void expect_mss(const char *settings, uint16_t limit)
{
	static const uint8_t mss[] = {2, 4, 1460 >> 8, 1460 & 0xff};
	struct frame f = frame_ip(
		LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.7.7", .proto = 6, .len = IP_LEN + 24));
	uint8_t *tcp = f.b + ETH_LEN + IP_LEN, inner[FRAME_MAX];
	struct gateway *g = site_routed(settings, "");
	struct peer peer = peer_new(g, "to-b");

	tcp[12] = 6 << 4;
	tcp[13] = 2; // SYN
	memcpy(tcp + 20, mss, sizeof(mss));
	gateway_pass(g, &f, 1);
	expect_all_sent(g, 1, WAN);
	peer_open(&peer, &g->sent[0], inner);
	assert_int_equal(be16(inner + IP_LEN + 22), limit);
	peer_free(&peer);
	gateway_free(g);
}

static void test_mss_clamp(void **state)
{
	(void)state;
	expect_mss("mss_clamp = 1000;", 1000);
	expect_mss("mtu = 600; mss_clamp = \"auto\";", 560);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_mtu),
		pipeline_test(test_mtu_and_path_mtu),
		pipeline_test(test_mtu_whole),
		pipeline_test(test_mtu_with_df_clear),
		pipeline_test(test_mss_clamp),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
