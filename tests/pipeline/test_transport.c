// SPDX-License-Identifier: BSD-3-Clause
// Transport mode: packets of hosts behind two gateways and of the gateways' own addresses, both
// families. Proves which are admitted, which fit, and which errors are sent.
#include <netinet/in.h>

#include "packet_v6.h"
#include "peer.h"
#include "site_transport.h"

// --- through the gateways ---

static void expect_wire_v4(const struct frame *wire, const struct frame *in)
{
	const uint8_t *p = frame_packet(wire), *right = frame_packet(in);
	unsigned int hdr_len = (right[0] & 15) * 4u;

	assert_int_equal(be16(p + 2), frame_packet_len(wire));
	assert_int_equal(p[8], right[8] - 1);
	assert_int_equal(p[9], IPPROTO_ESP);
	assert_int_equal(checksum(p, hdr_len), 0);
	assert_memory_equal(p, right, 2);
	assert_memory_equal(p + 4, right + 4, 4); // id, DF
	assert_memory_equal(p + 12, right + 12, hdr_len - 12);
}

// From the LAN of one to the LAN of the other: unchanged but for two hops.
static void check_v4(struct gateway *from, struct gateway *to, struct ipv4 ip)
{
	struct frame in = frame_ip(LAN, ip), right = in, wire;
	const struct frame *out;

	wire = frame_carry(gateway_expect_sent(from, &in, WAN));
	expect_wire_v4(&wire, &in);
	out = gateway_expect_sent(to, &wire, LAN);
	right.b[ETH_LEN + 8] = (uint8_t)(right.b[ETH_LEN + 8] - 2);
	ip_checksum_update(right.b + ETH_LEN);
	assert_int_equal(out->len, in.len);
	assert_memory_equal(frame_packet(out), frame_packet(&right), frame_packet_len(&in));
}

static void check_v6(struct gateway *from, struct gateway *to, struct ipv6 ip)
{
	struct frame in = frame_ip6(LAN, ip), right = in, wire;
	const struct frame *out;
	const uint8_t *p;

	wire = frame_carry(gateway_expect_sent(from, &in, WAN));
	p = frame_packet(&wire);
	assert_int_equal(p[6], ip.ext_len > 0 ? ip.ext_proto : IPPROTO_ESP);
	assert_int_equal(be16(p + 4), frame_packet_len(&wire) - IP6_LEN);
	assert_memory_equal(p + 8, frame_packet(&in) + 8, 32);
	out = gateway_expect_sent(to, &wire, LAN);
	right.b[ETH_LEN + 7] = (uint8_t)(right.b[ETH_LEN + 7] - 2);
	assert_int_equal(out->len, in.len);
	assert_memory_equal(frame_packet(out), frame_packet(&right), frame_packet_len(&in));
}

static void check_algorithm(const char *cipher, const char *auth)
{
	static const uint8_t hop_by_hop[] = {IPPROTO_UDP, 0, 1, 4, 0, 0, 0, 0};
	struct site s = {.cipher = cipher, .auth = auth};
	struct gateway *a = site_transport(1, s), *b = site_transport(2, s);

	for (uint16_t len = 28; len <= 1426; len = (uint16_t)(len + (len < 100 ? 1 : 41))) {
		struct ipv4 to_b = FROM_TO("10.1.0.5", "10.2.0.5", .len = len, .id = len);
		struct ipv4 to_a = FROM_TO("10.2.0.5", "10.1.0.5", .len = len, .proto = 47);
		struct ipv6 to_b6 = {.src = "2001:db8:1::5", .dst = "2001:db8:2::5"};
		struct ipv6 to_a6 = {.src = "2001:db8:2::5", .dst = "2001:db8:1::5"};

		to_b.frag = len % 3 == 0 ? DF : 0;
		to_b.tos = (uint8_t)len;
		check_v4(a, b, to_b);
		check_v4(b, a, to_a);
		if (len < 60)
			continue;
		to_b6.len = to_a6.len = len;
		to_b6.flow_label = len;
		check_v6(a, b, to_b6);
		to_a6.ext = hop_by_hop;
		to_a6.ext_len = sizeof(hop_by_hop);
		to_a6.ext_proto = IPPROTO_HOPOPTS;
		check_v6(b, a, to_a6);
	}
	gateway_free(a);
	gateway_free(b);
}

static void test_every_algorithm(void **state)
{
	(void)state;
	for (const struct cipher_alg *c = cipher_algs; c->name != NULL; c++)
		for (const struct auth_alg *a = auth_algs; a->name != NULL; a++)
			if (alg_pair_ok(c, a))
				check_algorithm(c->name, a->name);
}

// Packets that the policy does not select are sent in clear; IPv4 options stay before ESP.
static void test_unselected_is_sent_in_clear(void **state)
{
	struct gateway *a = site_transport(1, (struct site){0}),
		       *b = site_transport(2, (struct site){0});
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5", .proto = 253));

	(void)state;
	gateway_expect_sent(a, &f, WAN);
	assert_int_equal(frame_packet(&a->sent[0])[9], 253);
	check_v4(a, b, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5", .len = 100, .options = 24));
	gateway_free(a);
	gateway_free(b);
}

// --- sizes ---

// The MTU of the path is 1300: 1266 octets remain with GCM, 34 less.
static void test_size(void **state)
{
	struct site s = {.mtu = 1300};
	struct gateway *a = site_transport(1, s), *b = site_transport(2, s);
	struct ipv4 ip = FROM_TO("10.1.0.5", "10.2.0.5", .frag = DF, .len = 1266);
	struct frame f, wire[2];

	(void)state;
	check_v4(a, b, ip);
	ip.len++;
	f = frame_ip(LAN, ip);
	gateway_expect_drop(a, &f, DROP_TOO_BIG);
	assert_int_equal(a->n_sent, 1);
	expect_error(frame_packet(&a->sent[0]), frame_packet_len(&a->sent[0]),
		(struct icmp_error){ICMP_UNREACHABLE, ICMP_UNREACH_NEEDFRAG, 1266}, "10.1.0.1",
		"10.1.0.5", &f);
	// A packet that may be fragmented is fragmented after encapsulation (RFC 4303 3.3.4).
	ip.frag = 0;
	f = frame_ip(LAN, ip);
	gateway_pass(a, &f, 1);
	expect_drops(a, DROP_NONE, 0);
	expect_all_sent(a, 2, WAN);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(frame_packet(&a->sent[i])[9], IPPROTO_ESP);
		assert_in_range(frame_packet_len(&a->sent[i]), 21, 1300);
		wire[i] = frame_carry(&a->sent[i]);
	}
	gateway_pass(b, wire, 2);
	expect_drops(b, DROP_NONE, 0);
	expect_all_sent(b, 1, LAN);
	assert_int_equal(frame_packet_len(&b->sent[0]), 1267);
	gateway_free(a);
	gateway_free(b);
}

// With CBC the size that fits depends on the length of the header: whole blocks after it.
static void test_size_of_blocks(void **state)
{
	struct site s = {.mtu = 1300, .cipher = "aes-128-cbc", .auth = "hmac-sha1-96"};
	struct gateway *a = site_transport(1, s), *b = site_transport(2, s);
	static const struct {
		uint8_t options;
		uint16_t fits;
	} rows[] = {{0, 1250}, {4, 1254}, {8, 1258}, {12, 1262}, {16, 1250}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct ipv4 ip = FROM_TO("10.1.0.5", "10.2.0.5", .frag = DF);
		struct frame f;

		ip.options = rows[i].options;
		ip.len = rows[i].fits;
		check_v4(a, b, ip);
		ip.len++;
		f = frame_ip(LAN, ip);
		gateway_expect_drop(a, &f, DROP_TOO_BIG);
		assert_int_equal(be16(frame_packet(&a->sent[0]) + 26), rows[i].fits);
	}
	gateway_free(a);
	gateway_free(b);
}

static void test_size_v6(void **state)
{
	struct site s = {.mtu = 1400};
	struct gateway *a = site_transport(1, s), *b = site_transport(2, s);
	struct ipv6 ip = {.src = "2001:db8:1::5", .dst = "2001:db8:2::5", .len = 1366};
	struct frame f;

	(void)state;
	check_v6(a, b, ip);
	ip.len++;
	f = frame_ip6(LAN, ip);
	gateway_expect_drop(a, &f, DROP_TOO_BIG);
	assert_int_equal(frame_packet(&a->sent[0])[IP6_LEN], 2); // packet too big
	assert_int_equal(be32(frame_packet(&a->sent[0]) + IP6_LEN + 4), 1366);
	gateway_free(a);
	gateway_free(b);
}

// --- invalid packets of peers ---

// A UDP header of 20 octets with payload, or the octets of a test, and its trailer.
static struct frame seal(const struct peer *p, uint64_t seq, uint8_t next_header)
{
	uint8_t text[64] = {0x12, 0xb5, 0x12, 0xb5, 0, 20};

	return peer_seal(p, (struct esp){.seq = seq,
				    .text = text,
				    .text_len = peer_trailer(p, text, 20, next_header)});
}

static void test_not_admitted(void **state)
{
	struct gateway *g = site_transport(1, (struct site){0});
	struct peer host = peer_new(g, "i1"), own = peer_new(g, "i3");
	struct frame f = seal(&host, 1, IPPROTO_UDP);

	(void)state;
	gateway_expect_sent(g, &f, LAN);
	assert_int_equal(frame_packet_len(&g->sent[0]), 40);
	f = seal(&host, 2, IPPROTO_TCP); // truncated
	gateway_expect_drop(g, &f, DROP_CT_INVALID);
	f = seal(&host, 3, 253);
	gateway_expect_drop(g, &f, DROP_SELECTOR);
	f = seal(&host, 4, IPPROTO_IPIP);
	gateway_expect_drop(g, &f, DROP_SELECTOR);
	f = seal(&host, 5, IPPROTO_NONE);
	gateway_expect_drop(g, &f, DROP_DUMMY);
	f = seal(&host, 6, IPPROTO_ESP);
	gateway_expect_drop(g, &f, DROP_SELECTOR);
	// Authenticated, but from an address that the SA is not for.
	f = seal(&host, 7, IPPROTO_UDP);
	f.b[ETH_LEN + 15]++;
	ip_checksum_update(f.b + ETH_LEN);
	gateway_expect_drop(g, &f, DROP_SELECTOR);
	f = seal(&host, 7, IPPROTO_UDP);
	gateway_expect_drop(g, &f, DROP_REPLAY);
	// For another address than the SA's, the gateway does not open it.
	f = seal(&own, 1, IPPROTO_UDP);
	put32(f.b + ETH_LEN + 16, ip_number("10.1.0.5"));
	ip_checksum_update(f.b + ETH_LEN);
	gateway_expect_sent(g, &f, LAN);
	assert_int_equal(frame_packet(&g->sent[0])[9], IPPROTO_ESP);
	f = frame_ip(WAN, (struct ipv4)FROM_TO("10.2.0.5", "10.1.0.5"));
	gateway_expect_drop(g, &f, DROP_CLEAR_TEXT);
	f = frame_ip(
		WAN, (struct ipv4)FROM_TO("192.0.2.2", "192.0.2.1", .proto = 1, .icmp_type = 8));
	gateway_expect_drop(g, &f, DROP_CLEAR_TEXT);
	peer_free(&host);
	peer_free(&own);
	gateway_free(g);
}

// Any length, truncated anywhere.
static void test_truncated_anywhere(void **state)
{
	struct gateway *a = site_transport(1, (struct site){0}),
		       *b = site_transport(2, (struct site){0});
	struct frame in = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5", .len = 60));

	(void)state;
	for (uint16_t len = IP_LEN; len < 96; len++) {
		struct frame f = frame_carry(gateway_expect_sent(a, &in, WAN));

		assert_int_equal(frame_packet_len(&f), 96);
		f.len = (uint16_t)(ETH_LEN + len);
		put16(f.b + ETH_LEN + 2, len);
		ip_checksum_update(f.b + ETH_LEN);
		gateway_pass(b, &f, 1);
		if (len >= 28) // SPI and number are present
			expect_drops(b,
				(len - 52) % 4 == 0 && len >= 56 ? DROP_AUTH : DROP_ESP_SHORT, 1);
		assert_int_equal(b->last.drops[DROP_NONE], 0);
	}
	gateway_free(a);
	gateway_free(b);
}

// Any octets with a right ICV and a right trailer.
static void test_any_text(void **state)
{
	struct gateway *g = site_transport(1, (struct site){0});
	struct peer peers[] = {peer_new(g, "i1"), peer_new(g, "i3")};
	uint64_t seed = 4303;

	(void)state;
	for (unsigned long i = 1; i <= rounds(20000); i++) {
		uint16_t len = (uint16_t)random_below(&seed, 120);
		const struct peer *p = &peers[i % COUNT_OF(peers)];
		uint8_t text[160];
		struct event e;
		struct frame f;

		for (uint16_t k = 0; k < len; k++)
			text[k] = (uint8_t)random_u64(&seed);
		if (len >= 28 && i % 3 == 0) // looks like IP in IP
			text[0] = 0x45;
		len = peer_trailer(p, text, len, (uint8_t)random_u64(&seed));
		f = peer_seal(p, (struct esp){.seq = i, .text = text, .text_len = len});
		gateway_pass(g, &f, 1);
		assert_int_equal(g->last.drops[DROP_AUTH], 0);
		while (worker_event_dequeue(g->w, &e))
			;
	}
	peer_free(&peers[0]);
	peer_free(&peers[1]);
	gateway_free(g);
}

// --- the gateways' own addresses ---

static struct frame ping_sealed(const struct peer *p, uint64_t seq)
{
	uint8_t text[64] = {8};

	put16(text + 2, checksum(text, 24));
	return peer_seal(p, (struct esp){.seq = seq,
				    .text = text,
				    .text_len = peer_trailer(p, text, 24, IPPROTO_ICMP)});
}

// drop: the drop reason at B, which answers pings and processes no error.
static void expect_own_esp(struct gateway *a, struct gateway *b, enum drop drop)
{
	struct frame wire;

	expect_all_sent(a, 1, WAN);
	wire = frame_carry(&a->sent[0]);
	assert_int_equal(frame_packet(&wire)[9], IPPROTO_ESP);
	assert_int_equal(be32(frame_packet(&wire) + 12), ip_number("192.0.2.1"));
	assert_int_equal(be32(frame_packet(&wire) + 16), ip_number("192.0.2.2"));
	gateway_pass(b, &wire, 1);
	expect_drops(b, drop, drop != DROP_NONE);
	assert_int_equal(b->last.local, drop == DROP_NONE);
}

static void test_own(void **state)
{
	struct gateway *a = site_transport(1, (struct site){0}),
		       *b = site_transport(2, (struct site){0});
	struct peer to_a = peer_new(a, "i3");
	struct frame f = ping_sealed(&to_a, 1);

	(void)state;
	gateway_pass(a, &f, 1);
	expect_drops(a, DROP_NONE, 0);
	assert_int_equal(a->last.local, 1);
	expect_own_esp(a, b, DROP_NONE);
	// A bypassed packet is delivered locally; the error to the peer is a packet that policy
	// protects.
	f = frame_ip(WAN, (struct ipv4)FROM_TO("192.0.2.2", "10.1.0.9", .proto = 253, .ttl = 1));
	gateway_expect_drop(a, &f, DROP_TTL);
	expect_own_esp(a, b, DROP_LOCAL_UNSERVED);
	peer_free(&to_a);
	gateway_free(a);
	gateway_free(b);
}

static void expect_own_esp6(struct gateway *a, struct gateway *b, enum drop drop)
{
	struct frame wire;

	expect_all_sent(a, 1, WAN);
	wire = frame_carry(&a->sent[0]);
	assert_int_equal(frame_packet(&wire)[6], IPPROTO_ESP);
	assert_memory_equal(frame_packet(&wire) + 8, ip6_octets("2001:db8:f::1"), 16);
	assert_memory_equal(frame_packet(&wire) + 24, ip6_octets("2001:db8:f::2"), 16);
	assert_int_equal(be32(frame_packet(&wire) + IP6_LEN), 0x1003); // of "o4"
	gateway_pass(b, &wire, 1);
	expect_drops(b, drop, drop != DROP_NONE);
	assert_int_equal(b->last.local, drop == DROP_NONE);
}

static void test_own_v6(void **state)
{
	struct gateway *a = site_transport(1, (struct site){0}),
		       *b = site_transport(2, (struct site){0});
	struct ipv6 ping = FROM_TO(
		"2001:db8:f::2", "2001:db8:f::1", .proto = IPPROTO_ICMPV6, .icmp_type = 128);
	struct peer to_a = peer_new(a, "i4");
	uint8_t packet[FRAME_MAX];
	uint16_t len = (uint16_t)(ip6_write(packet, ping) - IP6_LEN);
	struct frame f;

	(void)state;
	len = peer_trailer(&to_a, packet + IP6_LEN, len, IPPROTO_ICMPV6);
	f = peer_seal(&to_a, (struct esp){.seq = 1, .text = packet + IP6_LEN, .text_len = len});
	gateway_pass(a, &f, 1);
	expect_drops(a, DROP_NONE, 0);
	assert_int_equal(a->last.local, 1);
	expect_own_esp6(a, b, DROP_NONE);
	f = frame_ip6(WAN, ping);
	gateway_expect_drop(a, &f, DROP_CLEAR_TEXT);
	assert_int_equal(a->n_sent, 0);
	f = frame_ip6(WAN,
		(struct ipv6)FROM_TO("2001:db8:f::2", "2001:db8:1::9", .proto = 253, .hops = 1));
	gateway_expect_drop(a, &f, DROP_TTL);
	expect_own_esp6(a, b, DROP_LOCAL_UNSERVED);
	peer_free(&to_a);
	gateway_free(a);
	gateway_free(b);
}

// The source of an ICMP error is a router, which the SA of a host does not cover (RFC 4301 4.4.1),
// and in clear it would reveal content that the SA protects: none is sent, of the gateway or of
// others.
static void test_silent(void **state)
{
	struct gateway *a = site_transport(1, (struct site){0}),
		       *b = site_transport(2, (struct site){0});
	struct frame in[] = {frame_ip(LAN, (struct ipv4)FROM_TO("10.2.0.5", "10.1.0.5", .ttl = 2)),
		frame_ip6(LAN, (struct ipv6)FROM_TO("2001:db8:2::5", "2001:db8:1::5", .hops = 2))};
	uint8_t error[FRAME_MAX];
	struct frame f;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(in); i++) {
		f = frame_carry(gateway_expect_sent(b, &in[i], WAN));
		gateway_expect_drop(a, &f, DROP_TTL);
		assert_int_equal(a->n_sent, 0);
	}
	in[0] = frame_ip(LAN, (struct ipv4)FROM_TO("10.2.0.5", "10.1.0.5"));
	f = frame_carry(gateway_expect_sent(b, &in[0], WAN));
	gateway_expect_sent(a, &f, LAN);
	f = frame_raw(LAN, error,
		error_write(error, "10.1.0.254", "10.2.0.5", 3, 1, frame_packet(&a->sent[0])));
	gateway_expect_drop(a, &f, DROP_NO_POLICY);
	assert_int_equal(a->n_sent, 0);
	in[1] = frame_ip6(LAN, (struct ipv6)FROM_TO("2001:db8:2::5", "2001:db8:1::5"));
	f = frame_carry(gateway_expect_sent(b, &in[1], WAN));
	gateway_expect_sent(a, &f, LAN);
	f = frame_raw6(LAN, error,
		error6_write(error, "2001:db8:1::254", "2001:db8:2::5", 1, 0,
			frame_packet(&a->sent[0]), frame_packet_len(&a->sent[0])));
	gateway_expect_drop(a, &f, DROP_NO_POLICY);
	assert_int_equal(a->n_sent, 0);
	gateway_free(a);
	gateway_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_every_algorithm),
		pipeline_test(test_unselected_is_sent_in_clear),
		pipeline_test(test_size),
		pipeline_test(test_size_of_blocks),
		pipeline_test(test_size_v6),
		pipeline_test(test_not_admitted),
		pipeline_test(test_truncated_anywhere),
		pipeline_test(test_any_text),
		pipeline_test(test_own),
		pipeline_test(test_own_v6),
		pipeline_test(test_silent),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
