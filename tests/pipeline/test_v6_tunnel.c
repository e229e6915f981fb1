// SPDX-License-Identifier: BSD-3-Clause
// IPv6 through two gateways: both families in tunnels of both (RFC 4301 5.1.2, RFC 6040), sizes,
// fragments, hop limits.
#include <netinet/in.h>

#include "site_v6.h"

#define TO_B(...) FROM_TO("2001:db8:1::5", "2001:db8:2::5", ##__VA_ARGS__)

static void expect_outer_v6(const struct frame *wire, uint8_t tos)
{
	const uint8_t *p = frame_packet(wire);

	assert_int_equal(be16(wire->b + 12), 0x86dd);
	assert_int_equal(be32(p), 6u << 28 | (uint32_t)tos << 20); // no flow label
	assert_int_equal(be16(p + 4), frame_packet_len(wire) - IP6_LEN);
	assert_int_equal(p[6], IPPROTO_ESP);
	assert_int_equal(p[7], 64);
	assert_memory_equal(p + 8, ip6_octets("2001:db8:f::1"), 16);
	assert_memory_equal(p + 24, ip6_octets("2001:db8:f::2"), 16);
}

static void expect_outer_v4(const struct frame *wire, uint8_t tos, uint16_t frag)
{
	const uint8_t *p = frame_packet(wire);

	assert_int_equal(be16(wire->b + 12), 0x0800);
	assert_int_equal(p[0], 0x45);
	assert_int_equal(p[1], tos);
	assert_int_equal(be16(p + 2), frame_packet_len(wire));
	assert_int_equal(be16(p + 6), frag);
	assert_int_equal(p[8], 64);
	assert_int_equal(p[9], IPPROTO_ESP);
	assert_int_equal(checksum(p, IP_LEN), 0);
	assert_int_equal(be32(p + 12), ip_number("192.0.2.1"));
	assert_int_equal(be32(p + 16), ip_number("192.0.2.2"));
}

static void check_one(
	struct gateway *a, struct gateway *b, enum outer outer, const struct frame *in, uint8_t tos)
{
	uint16_t df = be16(in->b + 12) == 0x0800 ? (be16(in->b + ETH_LEN + 6) & DF) : DF;
	struct frame wire = frame_carry(gateway_expect_sent(a, in, WAN));

	if (outer == OVER_V4)
		expect_outer_v4(&wire, tos, df);
	else
		expect_outer_v6(&wire, tos);
	expect_arrived(gateway_expect_sent(b, &wire, LAN), in);
}

// Both inner families alternate in one SA.
static void check_mix(enum outer outer)
{
	struct gateway *a = site_v6_a(outer, (struct site){0}),
		       *b = site_v6_b(outer, (struct site){0});
	uint64_t seed = 4;

	for (uint16_t len = 40; len <= 1400; len++) {
		uint8_t tos = (uint8_t)(random_u64(&seed) & 0xfe); // not CE
		struct frame six = frame_ip6(
			LAN, (struct ipv6)TO_B(.proto = 253, .len = len, .tos = tos,
				     .sport = (uint16_t)random_u64(&seed), .flow_label = 0x12345));
		struct frame four = frame_ip(
			LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5", .proto = 253, .len = len,
				     .tos = tos, .frag = len % 2 == 0 ? DF : 0));

		check_one(a, b, outer, &six, tos);
		check_one(a, b, outer, &four, tos);
	}
	assert_int_equal(gateway_sa_counted(a, "out")->packets, 2 * 1361);
	gateway_free(a);
	gateway_free(b);
}

static void test_mixes(void **state)
{
	(void)state;
	check_mix(OVER_V4);
	check_mix(OVER_V6);
}

// An ICMPv6 error in a frame, about the packet as it was received or with its hop limit
// decremented.
static void expect_error6(const struct frame *f, uint8_t type, uint8_t code, uint32_t param,
	const char *from, const struct frame *about)
{
	const uint8_t *p = frame_packet(f), *icmp = p + IP6_LEN;
	unsigned int quoted = RTE_MIN(frame_packet_len(about), 1280 - IP6_LEN - 8);

	assert_int_equal(frame_packet_len(f), IP6_LEN + 8 + quoted);
	assert_int_equal(p[6], IPPROTO_ICMPV6);
	assert_memory_equal(p + 8, ip6_octets(from), 16);
	assert_memory_equal(p + 24, frame_packet(about) + 8, 16);
	assert_int_equal(icmp[0], type);
	assert_int_equal(icmp[1], code);
	assert_int_equal(be32(icmp + 4), param);
	assert_int_equal(ip6_checksum(p, IP6_LEN, frame_packet_len(f), IPPROTO_ICMPV6), 0);
	assert_memory_equal(icmp + 8, frame_packet(about), 7);
	assert_memory_equal(icmp + 16, frame_packet(about) + 8, quoted - 8);
}

// RFC 4303 2, computed by hand: 1500 less outer header, ESP header 8, IV 8, ICV 16, rounded down to
// a multiple of 4, less 2.
static void check_size(enum outer outer, uint16_t mtu)
{
	struct gateway *a = site_v6_a(outer, (struct site){0});
	struct frame in = frame_ip6(LAN, (struct ipv6)TO_B(.len = mtu));

	gateway_expect_sent(a, &in, WAN);
	in = frame_ip6(LAN, (struct ipv6)TO_B(.len = (uint16_t)(mtu + 1)));
	gateway_expect_drop(a, &in, DROP_TOO_BIG);
	expect_all_sent(a, 1, LAN);
	expect_error6(&a->sent[0], 2, 0, mtu, "2001:db8:1::1", &in);
	gateway_free(a);
}

static void test_too_big(void **state)
{
	(void)state;
	check_size(OVER_V4, 1446);
	check_size(OVER_V6, 1426);
}

static void test_hop_limit(void **state)
{
	struct gateway *a = site_v6_a(OVER_V6, (struct site){0});
	struct frame in = frame_ip6(LAN, (struct ipv6)TO_B(.hops = 1));

	(void)state;
	gateway_expect_drop(a, &in, DROP_TTL);
	expect_error6(&a->sent[0], 3, 0, 0, "2001:db8:1::1", &in);
	in = frame_ip6(LAN, (struct ipv6)TO_B(.hops = 2));
	gateway_expect_sent(a, &in, WAN);
	gateway_free(a);
}

// A packet of 40 + len octets as fragments of size octets of payload.
static unsigned int fragment_packet(
	struct frame out[], const struct frame *whole, uint16_t size, uint32_t id)
{
	const uint8_t *p = frame_packet(whole);
	uint16_t len = (uint16_t)(frame_packet_len(whole) - IP6_LEN);
	unsigned int n = 0;

	for (uint16_t off = 0; off < len; off = (uint16_t)(off + size)) {
		uint16_t part = (uint16_t)RTE_MIN(size, len - off);
		uint8_t packet[FRAME_MAX];

		memcpy(packet, p, IP6_LEN);
		put16(packet + 4, part + 8u);
		packet[6] = IPPROTO_FRAGMENT;
		packet[IP6_LEN] = p[6];
		packet[IP6_LEN + 1] = 0;
		put16(packet + IP6_LEN + 2, off | (off + part < len));
		put32(packet + IP6_LEN + 4, id);
		memcpy(packet + IP6_LEN + 8, p + IP6_LEN + off, part);
		out[n++] = frame_raw6(whole->port, packet, (uint16_t)(IP6_LEN + 8 + part));
	}
	return n;
}

// A packet received as fragments is sent as fragments no larger, each through the tunnel.
static void test_fragments_stay_as_small(void **state)
{
	struct gateway *a = site_v6_a(OVER_V6, (struct site){0}),
		       *b = site_v6_b(OVER_V6, (struct site){0});
	struct frame whole = frame_ip6(LAN, (struct ipv6)TO_B(.len = 2200)), part[8], wire[8];
	uint8_t got[FRAME_MAX] = {0}, seen = 0;
	struct frame right = frame_after_hops(&whole, 2);
	unsigned int n = fragment_packet(part, &whole, 1200, 0xabcdef01);

	(void)state;
	assert_int_equal(n, 2);
	gateway_pass(a, (struct frame[]){part[1], part[0]}, 2);
	expect_drops(a, DROP_NONE, 0);
	expect_all_sent(a, 2, WAN);
	for (unsigned int i = 0; i < 2; i++)
		wire[i] = frame_carry(&a->sent[i]);
	gateway_pass(b, wire, 2);
	expect_drops(b, DROP_NONE, 0);
	expect_all_sent(b, 2, LAN);
	for (unsigned int i = 0; i < 2; i++) {
		const uint8_t *p = frame_packet(&b->sent[i]);
		uint16_t off = be16(p + IP6_LEN + 2) & 0xfff8, len = (uint16_t)(be16(p + 4) - 8);

		assert_in_range(frame_packet_len(&b->sent[i]), IP6_LEN + 9, 1248);
		assert_int_equal(p[6], IPPROTO_FRAGMENT);
		assert_int_equal(p[7], 62);
		assert_int_equal(p[IP6_LEN], IPPROTO_UDP);
		assert_int_equal(be32(p + IP6_LEN + 4), 0xabcdef01);
		assert_int_equal(be16(p + IP6_LEN + 2) & 1, off + len < 2160);
		memcpy(got + off, p + IP6_LEN + 8, len);
		seen = (uint8_t)(seen | 1u << i);
	}
	assert_memory_equal(got, frame_packet(&right) + IP6_LEN, 2160);
	// A packet that fits the tunnel unfragmented may not fit the link after it.
	struct frame short_one = frame_ip6(LAN, (struct ipv6)TO_B(.len = 1400));

	n = fragment_packet(part, &short_one, 800, 8);
	gateway_pass(a, part, n);
	expect_drops(a, DROP_NONE, 0);
	expect_all_sent(a, 2, WAN);
	// A fragment that does not fit the tunnel by itself.
	n = fragment_packet(part, &whole, 1440, 7);
	gateway_pass(a, part, n);
	expect_drops(a, DROP_TOO_BIG, 1);
	assert_int_equal(be32(frame_packet(&a->sent[0]) + IP6_LEN + 4), 1426);
	// One that is never received.
	gateway_pass(a, part, 1);
	assert_int_equal(worker_held(a->w), 1);
	a->now += 60 * TSC_HZ;
	gateway_pass(a, NULL, 0);
	expect_drops(a, DROP_FRAGMENT_TIMEOUT, 1);
	gateway_free(a);
	gateway_free(b);
}

// An ESP packet over IPv6 that was fragmented on its path, and one with extension headers.
static void test_outer_headers(void **state)
{
	static const uint8_t options[8] = {IPPROTO_ESP, 0, 1, 4}; // PadN
	struct gateway *a = site_v6_a(OVER_V6, (struct site){0}),
		       *b = site_v6_b(OVER_V6, (struct site){0});
	struct frame in = frame_ip6(LAN, (struct ipv6)TO_B(.len = 1400)), part[2], wire;
	uint8_t packet[FRAME_MAX];

	(void)state;
	wire = frame_carry(gateway_expect_sent(a, &in, WAN));
	assert_int_equal(fragment_packet(part, &wire, 800, 9), 2);
	gateway_pass(b, part, 2);
	expect_drops(b, DROP_NONE, 0);
	assert_int_equal(b->n_sent, 1);
	expect_arrived(&b->sent[0], &in);

	wire = frame_carry(gateway_expect_sent(a, &in, WAN));
	memcpy(packet, frame_packet(&wire), IP6_LEN);
	memcpy(packet + IP6_LEN, options, 8);
	memcpy(packet + IP6_LEN + 8, frame_packet(&wire) + IP6_LEN,
		frame_packet_len(&wire) - IP6_LEN);
	packet[6] = IPPROTO_DSTOPTS;
	put16(packet + 4, frame_packet_len(&wire) - IP6_LEN + 8u);
	wire = frame_raw6(WAN, packet, (uint16_t)(frame_packet_len(&wire) + 8));
	expect_arrived(gateway_expect_sent(b, &wire, LAN), &in);
	gateway_expect_drop(b, &wire, DROP_REPLAY);
	gateway_free(a);
	gateway_free(b);
}

// Packets that must not be admitted: none by the SA of another peer, none in clear that its policy
// covers.
static void test_boundary(void **state)
{
	struct gateway *b = site_v6_b(OVER_V4, (struct site){0});
	struct frame f = frame_ip6(WAN, (struct ipv6)TO_B(.hops = 64));

	(void)state;
	gateway_expect_drop(b, &f, DROP_CLEAR_TEXT);
	f = frame_ip6(WAN, (struct ipv6)FROM_TO("2001:db8:7::5", "2001:db8:2::5"));
	gateway_expect_drop(b, &f, DROP_NO_POLICY);
	f = frame_ip6(WAN, (struct ipv6)FROM_TO("2001:db8:2::7", "2001:db8:2::5"));
	gateway_expect_drop(b, &f, DROP_IP_SOURCE);
	f = frame_ip6(WAN, (struct ipv6)FROM_TO("2001:db8:9::5", "2001:db8:2::5"));
	gateway_expect_sent(b, &f, LAN);
	f = frame_ip6(LAN, (struct ipv6)FROM_TO("2001:db8:2::5", "2001:db8:9::6"));
	gateway_expect_sent(b, &f, WAN); // by a link-local router
	f = frame_ip6(LAN, (struct ipv6)FROM_TO("2001:db8:2::5", "2001:db8:7::6"));
	gateway_expect_drop(b, &f, DROP_NO_POLICY);
	gateway_free(b);
}

// RFC 8200 5: a reply that is too large for its tunnel is fragmented by the gateway, which is its
// source.
static void test_large_answers(void **state)
{
	struct gateway *a = site_v6_a(OVER_V6, (struct site){.mtu = 1400});
	struct gateway *b = site_v6_b(OVER_V6, (struct site){0}); // algorithms that A does not have
	uint16_t mtu = sa_out_path(gateway_sa_out(a, "out"))->mtu;

	(void)state;
	for (uint16_t len = 1200; len <= 1420; len = (uint16_t)(len + 20)) {
		struct frame ping = frame_ip6(
			LAN, (struct ipv6)FROM_TO("2001:db8:2::5", "2001:db8:1::1",
				     .proto = IPPROTO_ICMPV6, .icmp_type = 128, .len = len));
		struct frame f = frame_carry(gateway_expect_sent(b, &ping, WAN)), sent[2];
		unsigned int n = len <= mtu ? 1 : 2;

		gateway_pass(a, &f, 1);
		expect_drops(a, DROP_NONE, 0);
		expect_all_sent(a, n, WAN);
		for (unsigned int i = 0; i < n; i++)
			sent[i] = frame_carry(&a->sent[i]);
		gateway_pass(b, sent, n);
		expect_drops(b, DROP_NONE, 0);
		expect_all_sent(b, n, LAN);
		if (n == 1)
			assert_int_equal(frame_packet_len(&b->sent[0]), len);
		else
			assert_int_equal(
				frame_packet_len(&b->sent[0]) + frame_packet_len(&b->sent[1]),
				len + IP6_LEN + 2 * 8);
	}
	gateway_free(a);
	gateway_free(b);
}

// RFC 4862 5.4: while its own address may be a duplicate, an SA neither sends nor receives.
static void test_addr_unusable(void **state)
{
	struct gateway *a = site_v6_a(OVER_V6, (struct site){0});
	struct gateway *b = site_v6_b(OVER_V6, (struct site){0});
	struct sa_out *out = gateway_sa_out(b, "out");
	struct sa_in *in = gateway_sa_in(b, "in");
	struct frame to_b = frame_ip6(LAN, (struct ipv6)FROM_TO("2001:db8:1::5", "2001:db8:2::5"));
	struct frame to_a = frame_ip6(LAN, (struct ipv6)FROM_TO("2001:db8:2::5", "2001:db8:1::5"));
	struct frame f = frame_carry(gateway_expect_sent(a, &to_b, WAN));

	(void)state;
	sa_local_set(&out->sa, DROP_ADDR_UNUSABLE);
	sa_local_set(&in->sa, DROP_ADDR_UNUSABLE);
	gateway_expect_drop(b, &to_a, DROP_ADDR_UNUSABLE);
	gateway_expect_drop(b, &f, DROP_ADDR_UNUSABLE);
	sa_local_set(&out->sa, DROP_NONE);
	sa_local_set(&in->sa, DROP_NONE);
	gateway_expect_sent(b, &to_a, WAN);
	gateway_expect_sent(b, &f, LAN);
	// An expired SA stays expired, whatever the state of the address.
	f = frame_carry(gateway_expect_sent(a, &to_b, WAN));
	sa_local_set(&out->sa, DROP_ADDR_UNUSABLE);
	sa_local_set(&in->sa, DROP_ADDR_UNUSABLE);
	sa_stop(&out->sa, LIFETIME_SECONDS);
	sa_stop(&in->sa, LIFETIME_SECONDS);
	sa_local_set(&out->sa, DROP_NONE);
	sa_local_set(&in->sa, DROP_NONE);
	gateway_expect_drop(b, &to_a, DROP_LIFETIME);
	gateway_expect_drop(b, &f, DROP_LIFETIME);
	gateway_free(a);
	gateway_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_mixes),
		pipeline_test(test_too_big),
		pipeline_test(test_hop_limit),
		pipeline_test(test_fragments_stay_as_small),
		pipeline_test(test_outer_headers),
		pipeline_test(test_boundary),
		pipeline_test(test_large_answers),
		pipeline_test(test_addr_unusable),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
