// SPDX-License-Identifier: BSD-3-Clause
// Transport mode in UDP (RFC 3948): packets of hosts through two gateways, and with a NAT between
// them. Proves that the inner checksums, which do not include the NAT's addresses (RFC 3948 3.1.2),
// are right after decapsulation.
#include <netinet/in.h>

#include "packet_v6.h"
#include "site_transport.h"
#include "udp.h"

static const struct site in_udp = {.sa = IN_UDP};

#define POLICY(name, proto, n)                                                                     \
	"  { name = \"" name "\"; proto = \"" proto "\"; action = \"protect\"; out = \"o" #n       \
	"\"; in = \"i" #n "\"; },\n"

static const struct site all_in_udp = {.sa = IN_UDP,
	.policies = POLICY("tcp", "tcp", 1) POLICY("tcp6", "tcp", 2) POLICY("gre6", "gre", 2)
		POLICY("icmp6", "icmpv6", 2)};

// --- without a NAT ---

static void expect_same(const struct frame *out, const struct frame *in)
{
	assert_int_equal(out->len, in->len);
	assert_memory_equal(
		frame_packet(out) + 12, frame_packet(in) + 12, frame_packet_len(in) - 12u);
}

static void check_v4(struct gateway *a, struct gateway *b, struct ipv4 ip)
{
	struct frame in = frame_ip(LAN, ip), wire;
	const uint8_t *p = frame_packet(&wire);
	unsigned int hdr_len = IP_LEN + ip.options;

	wire = frame_carry(gateway_expect_sent(a, &in, WAN));
	assert_int_equal(p[9], IPPROTO_UDP);
	assert_int_equal(be16(p + 2), frame_packet_len(&wire));
	assert_int_equal(checksum(p, hdr_len), 0);
	assert_int_equal(be32(p + hdr_len), NATT << 16 | NATT);
	assert_int_equal(be16(p + hdr_len + 4), frame_packet_len(&wire) - hdr_len);
	assert_int_equal(be16(p + hdr_len + 6), 0);
	gateway_expect_sent(b, &wire, LAN);
	expect_same(&b->sent[0], &in);
}

static void check_v6(struct gateway *a, struct gateway *b, struct ipv6 ip)
{
	struct frame in = frame_ip6(LAN, ip), wire;
	const uint8_t *p = frame_packet(&wire);
	uint16_t udp = (uint16_t)(IP6_LEN + ip.ext_len);

	wire = frame_carry(gateway_expect_sent(a, &in, WAN));
	assert_int_equal(p[ip.ext_len > 0 ? IP6_LEN : 6], IPPROTO_UDP);
	assert_int_equal(be16(p + 4), frame_packet_len(&wire) - IP6_LEN);
	assert_int_equal(be32(p + udp), NATT << 16 | NATT);
	assert_int_equal(be16(p + udp + 4), frame_packet_len(&wire) - udp);
	assert_int_equal(ip6_checksum(p, udp, frame_packet_len(&wire), IPPROTO_UDP), 0);
	gateway_expect_sent(b, &wire, LAN);
	expect_same(&b->sent[0], &in);
}

// Octet by octet, for protocols without a checksum that might be recomputed.
static void test_through(void **state)
{
	static const uint8_t hop_by_hop[] = {IPPROTO_GRE, 0, 1, 4, 0, 0, 0, 0};
	struct gateway *a = site_transport(1, all_in_udp), *b = site_transport(2, all_in_udp);
	struct ipv4 ip = FROM_TO("10.1.0.5", "10.2.0.5", .proto = IPPROTO_GRE, .frag = DF);
	struct ipv6 ip6 = FROM_TO("2001:db8:1::5", "2001:db8:2::5", .proto = IPPROTO_GRE);

	(void)state;
	for (ip.len = 28; ip.len <= 1400; ip.len++)
		check_v4(a, b, ip);
	ip.options = 8;
	check_v4(a, b, ip);
	for (ip6.len = 48; ip6.len <= 1400; ip6.len++)
		check_v6(a, b, ip6);
	ip6.ext = hop_by_hop;
	ip6.ext_len = sizeof(hop_by_hop);
	ip6.ext_proto = IPPROTO_HOPOPTS;
	check_v6(a, b, ip6);
	gateway_free(a);
	gateway_free(b);
}

// The error has the largest size that fits, with and without IP options.
static void test_size(void **state)
{
	struct gateway *a = site_transport(1, in_udp);

	(void)state;
	for (uint8_t options = 0; options <= 40; options = (uint8_t)(options + 4)) {
		struct ipv4 ip = FROM_TO(
			"10.1.0.5", "10.2.0.5", .frag = DF, .len = 1500, .options = options);
		struct frame f = frame_ip(LAN, ip);

		gateway_expect_drop(a, &f, DROP_TOO_BIG);
		assert_int_equal(a->n_sent, 1);
		ip.len = be16(frame_packet(&a->sent[0]) + IP_LEN + 6);
		f = frame_ip(LAN, ip);
		gateway_expect_sent(a, &f, WAN);
		assert_in_range(frame_packet_len(&a->sent[0]), 1497, 1500);
	}
	gateway_free(a);
}

// SAs in UDP do not accept packets without UDP, and vice versa.
static void test_udp_and_plain_stay_apart(void **state)
{
	struct gateway *a = site_transport(1, in_udp), *b = site_transport(2, (struct site){0});
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5")), wire;

	(void)state;
	wire = frame_carry(gateway_expect_sent(a, &f, WAN));
	wire.b[ETH_LEN + IP_LEN] = 0x11;
	gateway_pass(b, &wire, 1); // no port of B's: a datagram for the host, in clear
	assert_int_equal(b->last.drops[DROP_CLEAR_TEXT], 1);
	gateway_free(a);
	gateway_free(b);
}

// --- with a NAT ---

struct upper {
	const char *name;
	uint8_t proto;
	uint16_t len, sum_off;
	enum { RECOMPUTED, KEPT, NONE } sum;
};

static const struct upper uppers[] = {
	{"TCP", IPPROTO_TCP, 40, 16, RECOMPUTED},
	{"TCP, odd", IPPROTO_TCP, 41, 16, RECOMPUTED},
	{"TCP, no more than a header", IPPROTO_TCP, 20, 16, RECOMPUTED},
	{"UDP", IPPROTO_UDP, 60, 6, RECOMPUTED},
	{"UDP, odd", IPPROTO_UDP, 61, 6, RECOMPUTED},
	{"UDP, empty", IPPROTO_UDP, 8, 6, RECOMPUTED},
	{"UDP without checksum", IPPROTO_UDP, 60, 6, NONE},
	{"ICMPv6", IPPROTO_ICMPV6, 60, 2, RECOMPUTED},
	{"GRE", IPPROTO_GRE, 60, 6, KEPT},
};

static void payload_write(uint8_t *to, const struct upper *u)
{
	for (unsigned int i = 0; i < u->len; i++)
		to[i] = (uint8_t)(i * 3 + 1);
	put32(to, 7 << 16 | 9); // ports
	if (u->proto == IPPROTO_UDP)
		put16(to + 4, u->len);
	if (u->proto == IPPROTO_TCP) {
		to[12] = 5 << 4;
		to[13] = 2; // SYN
	}
	if (u->proto == IPPROTO_ICMPV6)
		to[0] = 128; // echo request
	put16(to + u->sum_off, 0);
}

// One's complement sum of a pseudo header and the octets after it.
static uint16_t sum_of(const uint8_t *src, const uint8_t *dst, unsigned int addr_len,
	const struct upper *u, const uint8_t *at)
{
	uint8_t all[FRAME_MAX] = {0};

	memcpy(all, src, addr_len);
	memcpy(all + addr_len, dst, addr_len);
	all[2 * addr_len + 1] = u->proto;
	put16(all + 2 * addr_len + 2, u->len);
	memcpy(all + 2 * addr_len + 4, at, u->len);
	return checksum(all, 2 * addr_len + 4 + u->len);
}

// A packet whose checksum is about another source address: as a NAT between the gateways causes it.
// The offsets of its addresses and payload depend on the family.
static void check_nat(
	struct gateway *from, struct gateway *to, struct frame in, bool v4, const struct upper *u)
{
	unsigned int addr_len = v4 ? 4 : 16, l4_off = ETH_LEN + (v4 ? IP_LEN : IP6_LEN);
	uint8_t *addrs = in.b + ETH_LEN + (v4 ? 12 : 8), *payload = in.b + l4_off;
	uint8_t before[16];
	struct frame wire;
	const uint8_t *out;
	uint16_t sum;

	print_message("IPv%u, %s\n", v4 ? 4 : 6, u->name);
	memcpy(before, addrs, addr_len);
	before[addr_len - 1] ^= 0x55;
	payload_write(payload, u);
	sum = u->sum == NONE ? 0 : sum_of(before, addrs + addr_len, addr_len, u, payload);
	put16(payload + u->sum_off, sum);
	wire = frame_carry(gateway_expect_sent(from, &in, WAN));
	gateway_expect_sent(to, &wire, LAN);
	assert_int_equal(to->sent[0].len, in.len);
	out = to->sent[0].b + l4_off;
	if (u->sum == RECOMPUTED) {
		assert_int_not_equal(be16(out + u->sum_off), sum);
		assert_int_equal(sum_of(addrs, addrs + addr_len, addr_len, u, out), 0);
	} else {
		assert_int_equal(be16(out + u->sum_off), sum);
	}
	put16(payload + u->sum_off, be16(out + u->sum_off));
	assert_memory_equal(out, payload, u->len);
}

static void test_nat(void **state)
{
	struct gateway *a = site_transport(1, all_in_udp), *b = site_transport(2, all_in_udp);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(uppers); i++) {
		const struct upper *u = &uppers[i];
		struct ipv4 ip = FROM_TO("10.1.0.5", "10.2.0.5", .proto = u->proto);
		struct ipv6 ip6 = FROM_TO("2001:db8:1::5", "2001:db8:2::5", .proto = u->proto);

		ip.len = (uint16_t)(IP_LEN + u->len);
		ip6.len = (uint16_t)(IP6_LEN + u->len);
		if (u->proto != IPPROTO_ICMPV6)
			check_nat(a, b, frame_ip(LAN, ip), true, u);
		check_nat(a, b, frame_ip6(LAN, ip6), false, u);
	}
	gateway_free(a);
	gateway_free(b);
}

// Tunnel mode, and transport mode without UDP, change nothing.
static void test_other_modes_are_unchanged(void **state)
{
	static const struct upper wrong = {"UDP", IPPROTO_UDP, 60, 6, KEPT};
	const struct site without = {0};
	struct gateway *a = site_transport(1, without), *b = site_transport(2, without);
	struct ipv4 ip = FROM_TO("10.1.0.5", "10.2.0.5", .len = 80);

	(void)state;
	check_nat(a, b, frame_ip(LAN, ip), true, &wrong);
	gateway_free(a);
	gateway_free(b);
	a = site_a(in_udp);
	b = site_b(in_udp);
	check_nat(a, b, frame_ip(LAN, ip), true, &wrong);
	gateway_free(a);
	gateway_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_through),
		pipeline_test(test_size),
		pipeline_test(test_udp_and_plain_stay_apart),
		pipeline_test(test_nat),
		pipeline_test(test_other_modes_are_unchanged),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
