// SPDX-License-Identifier: BSD-3-Clause
// Traffic flow confidentiality: padding to one length (RFC 4303 2.7) and dummies that fill up a
// rate (RFC 4303 2.6), between two gateways, in all mixes of families.
#include <netinet/in.h>

#include "peer.h"
#include "site_v6.h"

#define MS (TSC_HZ / 1000)

static struct frame inner_frame(bool six, uint16_t len)
{
	if (six)
		return frame_ip6(LAN, (struct ipv6)FROM_TO("2001:db8:1::5", "2001:db8:2::5",
					      .len = len, .tos = 0xba, .proto = 253));
	return frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5", .len = len, .tos = 0xba,
				     .proto = 253));
}

// Octets of an ESP packet of aes-128-gcm around inner_len (RFC 4303 2, RFC 4106).
static uint16_t sealed_len(enum outer outer, uint16_t text_len)
{
	uint16_t padded = (uint16_t)((text_len + 2 + 3) / 4 * 4);

	return (uint16_t)((outer == OVER_V4 ? 20 : 40) + 8 + 8 + padded + 16);
}

// Every length of packet, both families in one SA: one length on the wire up to pad, and the
// original packet after decapsulation.
static void check_pad(enum outer outer, const char *sa, uint16_t pad)
{
	struct gateway *a = site_v6_a(outer, (struct site){.sa_out = sa}),
		       *b = site_v6_b(outer, (struct site){0});
	uint16_t largest = outer == OVER_V4 ? 1446 : 1426;

	for (unsigned int i = 80; i <= 2u * largest; i++) {
		uint16_t len = (uint16_t)(i / 2), padded = pad < largest ? pad : largest;
		struct frame in = inner_frame(i % 2 != 0, len);
		struct frame wire = frame_carry(gateway_expect_sent(a, &in, WAN));
		const uint8_t *p = frame_packet(&wire);

		assert_int_equal(
			frame_packet_len(&wire), sealed_len(outer, len > padded ? len : padded));
		// The outer header reveals nothing of the inner header's TOS.
		assert_int_equal(be16(p), outer == OVER_V4 ? 0x4500 : 0x6000);
		expect_arrived(gateway_expect_sent(b, &wire, LAN), &in);
	}
	gateway_free(a);
	gateway_free(b);
}

static void test_padding(void **state)
{
	(void)state;
	for (enum outer outer = OVER_V4; outer <= OVER_V6; outer++) {
		check_pad(outer, "tfc = { };", UINT16_MAX);
		check_pad(outer, "tfc = { pad = 1001; };", 1001);
		check_pad(outer, "tfc = { pad = 64; };", 64);
	}
}

// The sealed text, opened by the test's own peer.
static void test_sealed_padding_is_zero(void **state)
{
	struct gateway *a = site_a((struct site){.sa_out = "tfc = { pad = 300; };"});
	struct peer peer = peer_new(a, "to-b");
	struct frame in = inner_frame(false, 61);
	struct frame wire = *gateway_expect_sent(a, &in, WAN);
	uint8_t *text = wire.b + ETH_LEN + IP_LEN + 16;
	struct crypto_op op = {
		.session = peer.session, .esp = text - 16, .seq = 1, .text_len = 304};

	(void)state;
	assert_int_equal(wire.len, ETH_LEN + IP_LEN + 16 + 304 + 16);
	crypto_open(&op, 1, 0);
	assert_true(op.ok);
	assert_int_equal(
		be16(text + 2), 61); // separates the inner packet from the padding after it
	for (unsigned int i = 61; i < 300; i++)
		assert_int_equal(text[i], 0);
	assert_memory_equal(text + 300, ((uint8_t[]){1, 2, 2, IPPROTO_IPIP}), 4);
	peer_free(&peer);
	gateway_free(a);
}

// On the wire a dummy does not differ from a packet in length, TOS and DF, or flow label.
static void expect_alike(const struct frame *f, const struct frame *other)
{
	const uint8_t *a = frame_packet(f), *b = frame_packet(other);

	assert_int_equal(f->len, other->len);
	if (a[0] == 0x45) {
		assert_int_equal(be16(a), be16(b));
		assert_int_equal(be16(a + 6), DF);
	} else {
		assert_int_equal(be32(a), be32(b));
	}
}

// Counts the dummies of that many milliseconds, while each of them has n packets.
static unsigned int sent_in(struct gateway *a, struct gateway *b, unsigned int ms, unsigned int n)
{
	unsigned int sent = 0;

	for (unsigned int i = 0; i < ms; i++) {
		struct frame in[RX_BURST_MAX] = {0}, wire[2 * RX_BURST_MAX];

		for (unsigned int k = 0; k < n; k++)
			in[k] = inner_frame(k % 2 != 0, (uint16_t)(100 + k));
		a->now += MS;
		gateway_pass(a, in, n);
		expect_drops(a, DROP_NONE, 0);
		assert_int_equal(a->last.originated + n, a->n_sent);
		for (unsigned int k = 0; k < a->n_sent; k++) {
			wire[k] = frame_carry(&a->sent[k]);
			expect_alike(&wire[k], &wire[0]);
		}
		sent += a->n_sent;
		for (unsigned int k = 0; k < a->n_sent; k += RX_BURST_MAX)
			gateway_pass(b, wire + k, RTE_MIN(a->n_sent - k, RX_BURST_MAX));
	}
	return sent;
}

static void check_dummies(enum outer outer)
{
	struct gateway *a =
		site_v6_a(outer, (struct site){.sa_out = "tfc = { pad = 500; dummies = 2500; };"});
	struct gateway *b = site_v6_b(outer, (struct site){0});
	const uint64_t *swallowed = &gateway_sa_counted(b, "in")->drops[DROP_OF_SA_DUMMY];
	const struct sa_per_worker *of_sa = gateway_sa_counted(a, "out");

	sent_in(a, b, 1, 0);                                 // time counts from here on
	assert_in_range(sent_in(a, b, 1000, 0), 2499, 2501); // nothing but dummies
	assert_int_equal(*swallowed, of_sa->dummies);
	assert_int_equal(of_sa->dummies, of_sa->packets);
	assert_in_range(sent_in(a, b, 1000, 1), 2499, 2501); // they fill the gap
	assert_int_equal(*swallowed, of_sa->dummies);
	assert_int_equal(of_sa->dummies + 1000, of_sa->packets);
	sent_in(a, b, 2, 10);
	assert_in_range(sent_in(a, b, 1000, 3), 3000, 3001); // the rate is reached
	assert_int_equal(*swallowed, of_sa->dummies);
	assert_int_equal(b->w->counters.drops[DROP_DUMMY], of_sa->dummies);
	gateway_free(a);
	gateway_free(b);
}

static void test_dummies(void **state)
{
	(void)state;
	check_dummies(OVER_V4);
	check_dummies(OVER_V6);
}

// The maximum in a pass, together with a full burst.
static void test_maximum_of_dummies_in_a_pass(void **state)
{
	struct gateway *a = site_v6_a(
		OVER_V4, (struct site){.sa_out = "tfc = { pad = 200; dummies = 50000; };"});
	struct gateway *b = site_v6_b(OVER_V4, (struct site){0});

	(void)state;
	sent_in(a, b, 1, 0);
	assert_in_range(sent_in(a, b, 100, 0), 4999, 5001);
	// The first dummies are sent before the first packet is counted.
	assert_in_range(sent_in(a, b, 100, RX_BURST_MAX), 6400, 6451);
	a->now += 10 * MS;
	gateway_pass(a, NULL, 0);
	assert_int_equal(a->n_sent, DUMMIES_MAX);
	gateway_free(a);
	gateway_free(b);
}

// Without a link address there are no dummies, only a solicitation; missed ones are not sent later.
static void test_no_neighbour(void **state)
{
	static const char conf[] =
		"flows = { max = 4096; };\n"
		"ports = (\n"
		"  { name = \"lan\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/24\" ]; },\n"
		"  { name = \"wan\"; device = \"net_null1\"; addresses = [ \"192.0.2.1/24\" ]; } "
		");\n"
		"routes = ( { to = \"10.2.0.0/24\"; via = \"192.0.2.2\"; } );\n"
		"sas = (\n"
		"  { name = \"out\"; direction = \"out\"; spi = \"0x1001\"; local = "
		"\"192.0.2.1\";\n"
		"    remote = \"192.0.2.77\"; cipher = \"aes-128-gcm\"; tfc = { dummies = 1000; "
		"};\n"
		"    cipher_key = \"000102030405060708090a0b0c0d0e0f10111213\"; } );\n";
	const struct ip_addr peer = ip_addr_from_v4(RTE_BE32(0xc000024d));
	struct rte_ether_addr mac = {{2, 0, 0, 0, 0, 77}};
	struct gateway *g = gateway_new(0, conf);

	(void)state;
	for (unsigned int i = 0; i < 500; i++) {
		g->now += MS;
		gateway_pass(g, NULL, 0);
		assert_int_equal(g->n_sent + g->last.originated, 0);
		if (i == 2)
			expect_event(g, EVENT_NEIGH_NEEDED, WAN, "192.0.2.77");
	}
	assert_int_equal(neigh_set_static(harness_neigh, WAN, &peer, &mac), 0);
	for (unsigned int i = 0; i < 10; i++) {
		g->now += MS;
		gateway_pass(g, NULL, 0);
		assert_in_range(g->n_sent, 0, 2);
	}
	assert_int_equal(g->n_sent, 1);
	gateway_free(g);
}

// An SA that has reached its limit makes none.
static void test_no_dummies_at_limit(void **state)
{
	struct gateway *a = site_v6_a(OVER_V4,
		(struct site){
			.sa_out = "tfc = { dummies = 1000; }; lifetime = { hard_packets = 5; };"});
	struct gateway *b = site_v6_b(OVER_V4, (struct site){0});

	(void)state;
	sent_in(a, b, 1, 0);
	assert_int_equal(sent_in(a, b, 100, 0), 5);
	gateway_free(a);
	gateway_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_padding),
		pipeline_test(test_sealed_padding_is_zero),
		pipeline_test(test_dummies),
		pipeline_test(test_maximum_of_dummies_in_a_pass),
		pipeline_test(test_no_neighbour),
		pipeline_test(test_no_dummies_at_limit),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
