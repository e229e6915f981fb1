// SPDX-License-Identifier: BSD-3-Clause
// Packets that are too large for their tunnel and are sent all the same, because their ESP packets
// are fragmented (RFC 4301 8.1, 8.2.1; RFC 2473 7; RFC 8200 4.5), and the processing by the peer.
#include <netinet/in.h>

#include "site_v6.h"

#define AFTER      "fragment = \"after\";"
#define TO_B4(...) (struct ipv4) FROM_TO("10.1.0.5", "10.2.0.5", ##__VA_ARGS__)
#define TO_B6(...) (struct ipv6) FROM_TO("2001:db8:1::5", "2001:db8:2::5", ##__VA_ARGS__)

struct pair {
	struct gateway *a, *b;
	enum outer outer;
	uint16_t mtu; // between them
};

static struct pair pair_new(enum outer outer, uint16_t mtu, const char *sa_out)
{
	struct site s = {.mtu = mtu, .sa_out = sa_out};

	return (struct pair){site_v6_a(outer, s), site_v6_b(outer, s), outer, mtu};
}

static void pair_free(const struct pair *p)
{
	gateway_free(p->a);
	gateway_free(p->b);
}

// Octets of payload of the outer fragment, its offset, and whether more follow.
static uint16_t read_v4(const uint8_t *p, uint16_t len, uint16_t *at, bool *more)
{
	assert_int_equal(p[0], 0x45);
	assert_int_equal(be16(p + 2), len);
	assert_int_equal(p[9], IPPROTO_ESP);
	assert_int_equal(checksum(p, IP_LEN), 0);
	assert_int_equal(be16(p + 6) & (DF | 0x8000), 0);
	*at = (uint16_t)((be16(p + 6) & 0x1fff) * 8);
	*more = (be16(p + 6) & MF) != 0;
	return (uint16_t)(len - IP_LEN);
}

static uint16_t read_v6(const uint8_t *p, uint16_t len, uint16_t *at, bool *more)
{
	assert_int_equal(be16(p + 4), len - IP6_LEN);
	assert_int_equal(p[6], IPPROTO_FRAGMENT);
	assert_int_equal(p[IP6_LEN], IPPROTO_ESP);
	assert_int_equal(p[IP6_LEN + 1], 0);
	*at = be16(p + IP6_LEN + 2) & 0xfff8;
	*more = (be16(p + IP6_LEN + 2) & 1) != 0;
	return (uint16_t)(len - IP6_LEN - 8);
}

static uint32_t id_of(const struct frame *f)
{
	const uint8_t *p = frame_packet(f);

	return be16(f->b + 12) == 0x0800 ? be16(p + 4) : be32(p + IP6_LEN + 4);
}

// A sent one ESP packet in as few fragments as possible.
static void expect_fragmented(const struct pair *p)
{
	uint16_t end = 0;

	expect_drops(p->a, DROP_NONE, 0);
	assert_in_range(p->a->n_sent, 2, 64);
	assert_int_equal(p->a->last.originated, p->a->n_sent - 1);
	for (unsigned int i = 0; i < p->a->n_sent; i++) {
		const struct frame *f = &p->a->sent[i];
		uint16_t len = frame_packet_len(f), at;
		bool more;
		uint16_t part = p->outer == OVER_V4 ? read_v4(frame_packet(f), len, &at, &more)
						    : read_v6(frame_packet(f), len, &at, &more);

		assert_int_equal(f->port, WAN);
		assert_int_equal(id_of(f), id_of(&p->a->sent[0]));
		assert_int_equal(at, end);
		assert_int_equal(more, i + 1 < p->a->n_sent);
		assert_in_range(len, more ? p->mtu - 7 : 1, p->mtu);
		end = (uint16_t)(at + part);
	}
}

// Everything that A sent makes the original packet again, at the peer.
static void expect_delivered(const struct pair *p, const struct frame *in)
{
	struct frame wire[RX_BURST_MAX];
	unsigned int n = p->a->n_sent;

	for (unsigned int i = 0; i < n; i++) // the last first
		wire[n - 1 - i] = frame_carry(&p->a->sent[i]);
	gateway_pass(p->b, wire, n);
	expect_drops(p->b, DROP_NONE, 0);
	assert_int_equal(p->b->n_sent, 1);
	expect_arrived(&p->b->sent[0], in);
}

static void check_fragmented(const struct pair *p, const struct frame *in)
{
	gateway_pass(p->a, in, 1);
	expect_fragmented(p);
	expect_delivered(p, in);
}

static void check_unfragmented(const struct pair *p, const struct frame *in, uint16_t df)
{
	gateway_expect_sent(p->a, in, WAN);
	if (p->outer == OVER_V4)
		assert_int_equal(be16(frame_packet(&p->a->sent[0]) + 6), df);
	expect_delivered(p, in);
}

static void check_refused(const struct pair *p, const struct frame *in, unsigned int mtu)
{
	unsigned int at = be16(in->b + 12) == 0x0800 ? IP_LEN + 4 : IP6_LEN + 4;

	gateway_expect_drop(p->a, in, DROP_TOO_BIG);
	expect_all_sent(p->a, 1, LAN);
	assert_int_equal(be32(frame_packet(&p->a->sent[0]) + at), mtu);
}

static struct frame four(uint16_t len, uint16_t df)
{
	return frame_ip(LAN, TO_B4(.len = len, .frag = df, .id = len));
}

static struct frame six(uint16_t len)
{
	return frame_ip6(LAN, TO_B6(.len = len));
}

// RFC 4301 8.2.1: packets that may be fragmented are, and only those.
static void check_after(enum outer outer, uint16_t mtu, uint16_t fits)
{
	struct pair p = pair_new(outer, mtu, AFTER);
	struct frame in = four(fits, 0);

	check_unfragmented(&p, &in, 0);
	for (uint16_t len = (uint16_t)(fits + 1); len <= 1500; len++) {
		in = four(len, 0);
		check_fragmented(&p, &in);
	}
	in = four((uint16_t)(fits + 1), DF);
	check_refused(&p, &in, fits);
	in = six(1500);
	check_refused(&p, &in, RTE_MAX(fits, 1280));
	pair_free(&p);
}

static void test_after(void **state)
{
	(void)state;
	check_after(OVER_V4, 1500, 1446);
	check_after(OVER_V6, 1500, 1426);
	check_after(OVER_V4, 1300, 1246);
	check_after(OVER_V6, 1281, 1206);
}

// No packet is dropped; packets that may be fragmented are fragmented before encapsulation, as
// ever.
static void check_clear(enum outer outer)
{
	struct pair p = pair_new(outer, 1500, "df = \"clear\";");
	struct frame in = four(1400, DF);

	check_unfragmented(&p, &in, 0);
	in = six(1400);
	check_unfragmented(&p, &in, 0);
	in = four(1500, DF);
	check_fragmented(&p, &in);
	in = six(1500);
	check_fragmented(&p, &in);
	in = four(1500, 0);
	gateway_pass(p.a, &in, 1);
	expect_all_sent(p.a, 2, WAN);
	assert_int_equal(gateway_sa_out(p.a, "out")->seq, 6); // two packets of the SA, not one
	pair_free(&p);
}

static void test_clear(void **state)
{
	(void)state;
	check_clear(OVER_V4);
	check_clear(OVER_V6);
}

// DF of the outer header for inner packets without and with it; IPv6 is treated as with it.
static void check_df(const char *sa_out, uint16_t without, uint16_t with)
{
	struct pair p = pair_new(OVER_V4, 1500, sa_out);
	struct frame in = four(100, 0);

	check_unfragmented(&p, &in, without);
	in = four(100, DF);
	check_unfragmented(&p, &in, with);
	in = six(100);
	check_unfragmented(&p, &in, with);
	pair_free(&p);
}

static void test_df(void **state)
{
	(void)state;
	check_df(NULL, 0, DF);
	check_df("df = \"copy\";", 0, DF);
	check_df("df = \"set\";", DF, DF);
	check_df("df = \"clear\";", 0, 0);
}

static void test_set(void **state)
{
	struct pair p = pair_new(OVER_V4, 1500, "df = \"set\";" AFTER);
	struct frame in = four(1500, DF);

	(void)state;
	check_refused(&p, &in, 1446);
	in = four(1500, 0); // others may fragment these fragments, too
	check_fragmented(&p, &in);
	pair_free(&p);
}

// RFC 8200 5: 1280 octets are sent whatever the MTU of the tunnel.
static void check_small(enum outer outer, uint16_t mtu, uint16_t fits)
{
	struct pair p = pair_new(outer, mtu, NULL);
	struct frame in = six(fits);

	check_unfragmented(&p, &in, DF);
	for (uint16_t len = (uint16_t)(fits + 1); len <= 1280; len++) {
		in = six(len);
		check_fragmented(&p, &in);
	}
	in = six(1281);
	check_refused(&p, &in, 1280);
	in = four((uint16_t)(fits + 1), DF);
	check_refused(&p, &in, fits);
	pair_free(&p);
}

static void test_small(void **state)
{
	(void)state;
	check_small(OVER_V4, 1280, 1226);
	check_small(OVER_V6, 1280, 1206);
	check_small(OVER_V6, 1299, 1222);
}

// One of the fragments of an IPv6 packet of 40 + 1240 + 500 octets.
static struct frame six_part(uint16_t at, uint16_t len, bool more)
{
	static const uint8_t ext[8] = {IPPROTO_UDP};
	struct frame f =
		frame_ip6(LAN, TO_B6(.len = (uint16_t)(IP6_LEN + 8 + len), .proto = 253, .ext = ext,
				       .ext_len = 8, .ext_proto = IPPROTO_FRAGMENT));

	f.b[ETH_LEN + IP6_LEN] = 253;
	put16(f.b + ETH_LEN + IP6_LEN + 2, at | more);
	put32(f.b + ETH_LEN + IP6_LEN + 4, 0x1234);
	return f;
}

// Fragments of 1280 octets are those of a sender that knows of no larger MTU.
static void test_small_fragments(void **state)
{
	struct pair p = pair_new(OVER_V6, 1280, NULL);
	struct frame in[2] = {six_part(0, 1232, true), six_part(1232, 500, false)};
	struct frame wire[3];

	(void)state;
	gateway_pass(p.a, in, 2);
	expect_drops(p.a, DROP_NONE, 0);
	expect_all_sent(p.a, 3, WAN); // the first one's ESP packet in two
	for (unsigned int i = 0; i < 3; i++)
		wire[i] = frame_carry(&p.a->sent[i]);
	gateway_pass(p.b, wire, 3);
	expect_drops(p.b, DROP_NONE, 0);
	expect_all_sent(p.b, 2, LAN);
	assert_int_equal(frame_packet_len(&p.b->sent[0]), 1280);
	in[0] = six_part(0, 1240, true); // larger than the MTU that all links have to support
	in[1] = six_part(1240, 500, false);
	gateway_pass(p.a, in, 2);
	expect_drops(p.a, DROP_TOO_BIG, 1);
	pair_free(&p);
}

// A packet that was received as fragments and is in a large buffer.
static void test_large_buffer_is_fragmented(void **state)
{
	struct pair p = pair_new(OVER_V4, 1500, AFTER);
	struct frame whole = frame_ip(LAN, TO_B4(.len = 2300, .id = 7)), part[2];

	(void)state;
	part[0] = part[1] = whole;
	part[0].len = ETH_LEN + IP_LEN + 1480;
	put16(part[0].b + ETH_LEN + 2, IP_LEN + 1480);
	put16(part[0].b + ETH_LEN + 6, MF);
	part[1].len = ETH_LEN + IP_LEN + 800;
	put16(part[1].b + ETH_LEN + 2, IP_LEN + 800);
	put16(part[1].b + ETH_LEN + 6, 1480 / 8);
	memcpy(part[1].b + ETH_LEN + IP_LEN, whole.b + ETH_LEN + IP_LEN + 1480, 800);
	ip_checksum_update(part[0].b + ETH_LEN);
	ip_checksum_update(part[1].b + ETH_LEN);
	gateway_pass(p.a, part, 2);
	assert_int_equal(p.a->n_sent, 2);
	assert_int_equal(gateway_sa_out(p.a, "out")->seq, 1);
	pair_free(&p);
}

// Their identifications differ.
static void test_identifications_differ(void **state)
{
	static struct frame in[RX_BURST_MAX];
	struct pair p = pair_new(OVER_V6, 1280, NULL);
	struct gateway *g;

	(void)state;
	for (unsigned int i = 0; i < RX_BURST_MAX; i++)
		in[i] = six(1280); // 2 each
	gateway_pass(p.a, in, RX_BURST_MAX);
	expect_drops(p.a, DROP_NONE, 0);
	expect_all_sent(p.a, 2 * RX_BURST_MAX, WAN);
	for (unsigned int i = 2; i < p.a->n_sent; i += 2)
		for (unsigned int k = 0; k < i; k += 2)
			assert_int_not_equal(id_of(&p.a->sent[i]), id_of(&p.a->sent[k]));
	pair_free(&p);
	g = site_a((struct site){.mtu = 576, .lan_mtu = 2300, .sa_out = "df = \"clear\";"});
	for (unsigned int i = 0; i < RX_BURST_MAX; i++)
		in[i] = frame_ip(LAN, TO_B4(.len = 1900, .frag = DF)); // 4 each
	gateway_pass(g, in, RX_BURST_MAX);
	expect_drops(g, DROP_NONE, 0);
	expect_all_sent(g, 4 * RX_BURST_MAX, WAN);
	gateway_free(g);
}

static void test_no_buffers(void **state)
{
	static struct rte_mbuf *hoard[4096];
	struct gateway *g = site_a((struct site){.sa_out = AFTER});
	struct frame in = four(1500, 0);
	struct rte_mbuf *m = frame_mbuf(&in);
	unsigned int n = 0;

	(void)state;
	while ((hoard[n] = rte_pktmbuf_alloc(harness_pool)) != NULL)
		n++;
	gateway_pass_mbufs(g, &m, 1);
	expect_drops(g, DROP_FRAGMENT_FAILED, 1);
	rte_pktmbuf_free_bulk(hoard, n);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_after),
		pipeline_test(test_clear),
		pipeline_test(test_df),
		pipeline_test(test_set),
		pipeline_test(test_small),
		pipeline_test(test_small_fragments),
		pipeline_test(test_large_buffer_is_fragmented),
		pipeline_test(test_identifications_differ),
		pipeline_test(test_no_buffers),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
