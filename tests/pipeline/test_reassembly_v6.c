// SPDX-License-Identifier: BSD-3-Clause
// Reassembly of IPv6 (RFC 8200 4.5): datagrams of all sizes, headers before the fragment header,
// errors to the sender, overlaps (RFC 5722), atomic fragments (RFC 6946).
#include <netinet/in.h>

#include "datagram.h"
#include "site_transport.h"
#include "site_v6.h"

#define TIMEOUT (30 * (uint64_t)TSC_HZ)
#define STEP    1352 // payload of a fragment of 1400

// A fragment; fields that are 0 get the usual value.
struct part {
	uint32_t id;
	uint32_t off, len;
	bool more;
	uint8_t tos;
	uint8_t proto; // UDP
	bool options;  // hop-by-hop options before it
};

static const uint8_t hop_by_hop[8] = {IPPROTO_FRAGMENT, 0, 1, 4}; // PadN

static struct frame fragment(struct part c)
{
	uint8_t packet[FRAME_MAX] = {0};
	uint16_t at = IP6_LEN;

	put32(packet, 6u << 28 | (uint32_t)c.tos << 20);
	packet[6] = c.options ? IPPROTO_HOPOPTS : IPPROTO_FRAGMENT;
	packet[7] = 64;
	memcpy(packet + 8, ip6_octets("2001:db8:1::5"), 16);
	memcpy(packet + 24, ip6_octets("2001:db8:2::5"), 16);
	if (c.options) {
		memcpy(packet + at, hop_by_hop, sizeof(hop_by_hop));
		at += sizeof(hop_by_hop);
	}
	packet[at] = c.proto != 0 ? c.proto : IPPROTO_UDP;
	put16(packet + at + 2, c.off | c.more);
	put32(packet + at + 4, c.id);
	memcpy(packet + at + 8, whole.b + c.off, c.len);
	put16(packet + 4, at - IP6_LEN + 8u + c.len);
	return frame_raw6(LAN, packet, (uint16_t)(at + 8 + c.len));
}

static unsigned int fragments(struct frame f[], struct part c, uint32_t step)
{
	unsigned int n = 0;

	for (c.off = 0; c.off < whole.len; c.off += step) {
		c.len = RTE_MIN(step, whole.len - c.off);
		c.more = c.off + c.len < whole.len;
		f[n++] = fragment(c);
	}
	return n;
}

static void expect_error_sent(const struct gateway *g, uint8_t type, uint8_t code, uint32_t param,
	const struct frame *about)
{
	const uint8_t *p = frame_packet(&g->sent[0]);

	expect_all_sent(g, 1, LAN);
	assert_int_equal(p[6], IPPROTO_ICMPV6);
	assert_memory_equal(p + 24, ip6_octets("2001:db8:1::5"), 16);
	assert_int_equal(p[IP6_LEN], type);
	assert_int_equal(p[IP6_LEN + 1], code);
	assert_int_equal(be32(p + IP6_LEN + 4), param);
	assert_int_equal(
		ip6_checksum(p, IP6_LEN, frame_packet_len(&g->sent[0]), IPPROTO_ICMPV6), 0);
	assert_memory_equal(p + IP6_LEN + 8, frame_packet(about),
		RTE_MIN(frame_packet_len(about), 1280 - IP6_LEN - 8));
}

// From A's LAN through the tunnel to B's, up to the largest payload that the header can tell.
static void test_sizes(void **state)
{
	static const uint32_t sizes[] = {65535, 65534, 65497, 65496, 65495, 60000, 9 * STEP, 2000};
	struct gateway *a = site_v6_a(OVER_V6, (struct site){0}),
		       *b = site_v6_b(OVER_V6, (struct site){0});
	static struct frame f[64], wire[64];
	uint64_t seed = 9;

	(void)state;
	for (uint32_t i = 0; i < COUNT_OF(sizes); i++) {
		unsigned int n;

		datagram_fill(sizes[i], 9);
		n = fragments(f, (struct part){.id = i}, STEP);
		frames_shuffle(f, n, &seed);
		gateway_pass(a, f, n);
		expect_drops(a, DROP_NONE, 0);
		n = a->n_sent;
		for (unsigned int k = 0; k < n; k++)
			wire[k] = frame_carry(&a->sent[k]);
		frames_shuffle(wire, n, &seed);
		gateway_pass(b, wire, n);
		expect_drops(b, DROP_NONE, 0);
		collect_all(b, NULL);
		expect_complete();
	}
	gateway_free(a);
	gateway_free(b);
}

// Beyond 65495 octets of payload no buffer holds the datagram. It is forwarded in clear as well,
// and dropped where it is needed as a whole: for the gateway, as an ICMP error, and by ESP.
static void test_oversized_is_dropped_where_needed_whole(void **state)
{
	static const struct {
		uint8_t proto, type;
		const char *dst;
		enum drop drop;
	} rows[] = {
		{IPPROTO_UDP, 0, "2001:db8:9::5", DROP_NONE},
		{IPPROTO_ICMPV6, 128, "2001:db8:9::5", DROP_NONE},
		{IPPROTO_ICMPV6, 1, "2001:db8:9::5", DROP_FRAME_SCATTERED},
		{IPPROTO_ESP, 0, "2001:db8:9::5", DROP_FRAME_SCATTERED},
		{IPPROTO_UDP, 0, "2001:db8:1::1", DROP_FRAME_SCATTERED},
		{IPPROTO_ICMPV6, 128, "2001:db8:1::1", DROP_FRAME_SCATTERED},
	};
	struct gateway *a = site_v6_a(OVER_V6, (struct site){0});
	static struct frame f[64];

	(void)state;
	for (uint32_t i = 0; i < COUNT_OF(rows); i++) {
		unsigned int n;

		datagram_fill(65535, 9);
		if (rows[i].proto == IPPROTO_ICMPV6)
			whole.b[0] = rows[i].type;
		n = fragments(f, (struct part){.id = i, .proto = rows[i].proto}, STEP);
		for (unsigned int k = 0; k < n; k++)
			memcpy(f[k].b + ETH_LEN + 24, ip6_octets(rows[i].dst), 16);
		gateway_pass(a, f, n);
		expect_drops(a, rows[i].drop, rows[i].drop != DROP_NONE);
	}
	gateway_free(a);
}

// The host needs it whole as well: also of a flow that is decided.
static void test_oversized_is_not_for_the_host(void **state)
{
	struct gateway *g = site_v6_a(OVER_V6,
		(struct site){.wan = "host = \"gw0\";",
			.rules = ", { name = \"udp\"; host = true; proto = \"udp\"; action = "
				 "\"accept\"; }"});
	struct frame small = frame_ip6(LAN,
		(struct ipv6)FROM_TO("2001:db8:1::5", "2001:db8:f::1", .sport = 9, .dport = 9));
	static struct frame f[64];

	(void)state;
	gateway_host_add(g, WAN);
	datagram_fill(65535, 9);
	for (unsigned int again = 0; again < 2; again++) {
		unsigned int n = fragments(f, (struct part){.id = again}, STEP);

		for (unsigned int k = 0; k < n; k++)
			memcpy(f[k].b + ETH_LEN + 24, ip6_octets("2001:db8:f::1"), 16);
		gateway_pass(g, f, n);
		expect_drops(g, DROP_FRAME_SCATTERED, 1);
		gateway_expect_punted(g, small);
	}
	gateway_free(g);
}

// The headers before the fragment header stay there.
static void test_headers_in_front(void **state)
{
	struct gateway *a = site_v6_a(OVER_V6, (struct site){0}),
		       *b = site_v6_b(OVER_V6, (struct site){0});
	static struct frame f[4], wire[4];
	unsigned int n;

	(void)state;
	datagram_fill(3000, 9);
	n = fragments(f, (struct part){.id = 5, .options = true}, 1200);
	gateway_pass(a, f, n);
	expect_drops(a, DROP_NONE, 0);
	assert_int_equal(a->n_sent, n);
	for (unsigned int i = 0; i < n; i++)
		wire[i] = frame_carry(&a->sent[i]);
	gateway_pass(b, wire, n);
	expect_drops(b, DROP_NONE, 0);
	assert_int_equal(b->n_sent, n);
	for (unsigned int i = 0; i < n; i++) {
		const uint8_t *p = frame_packet(&b->sent[i]), *ext = p + IP6_LEN;
		uint16_t off = be16(ext + 10) & 0xfff8;

		assert_int_equal(p[6], IPPROTO_HOPOPTS);
		assert_memory_equal(ext, hop_by_hop, sizeof(hop_by_hop));
		assert_int_equal(ext[8], IPPROTO_UDP);
		assert_int_equal(be32(ext + 12), 5);
		assert_int_equal(be16(p + 4), frame_packet_len(&b->sent[i]) - IP6_LEN);
		memcpy(arrived.b + off, ext + 16, be16(p + 4) - 16u);
		arrived.len += be16(p + 4) - 16u;
	}
	expect_complete();
	gateway_free(a);
	gateway_free(b);
}

// The last fragment has more headers than the first one: the datagram gets no octet by that.
static void test_short_after_options(void **state)
{
	struct gateway *a = site_v6_a(OVER_V6, (struct site){0}),
		       *b = site_v6_b(OVER_V6, (struct site){0});
	struct frame f[2], wire;

	(void)state;
	datagram_fill(9, 9);
	upper_write(whole.b, 9, IPPROTO_UDP, 9, 9);
	f[0] = fragment((struct part){.id = 6, .len = 8, .more = true});
	f[1] = fragment((struct part){.id = 6, .off = 8, .len = 1, .options = true});
	gateway_pass(a, f, 2);
	expect_drops(a, DROP_NONE, 0);
	assert_int_equal(a->n_sent, 1);
	wire = frame_carry(&a->sent[0]);
	gateway_pass(b, &wire, 1);
	assert_int_equal(b->n_sent, 1);
	assert_int_equal(frame_packet_len(&b->sent[0]), IP6_LEN + 8 + 9);
	gateway_free(a);
	gateway_free(b);
}

// Malformed fragments, and the error to the sender (RFC 8200 4.5).
static void test_errors_sent(void **state)
{
	static const struct {
		struct part part;
		uint8_t code;
		uint32_t pointer;
	} rows[] = {
		{{.off = 0, .len = 101, .more = true}, 0, 4},
		{{.off = 808, .len = 101, .more = true}, 0, 4},
		{{.off = 65528, .len = 16}, 0, 42},
		{{.off = 65528, .len = 8, .options = true}, 0, 50},
		{{.off = 0, .len = 8, .more = true, .proto = IPPROTO_TCP}, 3, 0},
	};
	struct gateway *a = site_v6_a(OVER_V6, (struct site){0});
	struct frame f;

	(void)state;
	datagram_fill(65536, 9);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		f = fragment(rows[i].part);
		gateway_expect_drop(a, &f, DROP_FRAGMENT_INVALID);
		expect_error_sent(a, 4, rows[i].code, rows[i].pointer, &f);
	}
	// A header chain that continues after the first fragment (RFC 7112).
	memset(whole.b, 0, 8);
	whole.b[1] = 3;
	f = fragment((struct part){.len = 16, .more = true, .proto = IPPROTO_DSTOPTS});
	gateway_expect_drop(a, &f, DROP_EXT_HEADERS);
	expect_error_sent(a, 4, 3, 0, &f);
	gateway_free(a);
}

// RFC 5722: dropped silently.
static void test_overlap_drops_silently(void **state)
{
	struct gateway *a = site_v6_a(OVER_V6, (struct site){0});
	struct frame f[3], over;

	(void)state;
	datagram_fill(3000, 9);
	fragments(f, (struct part){.id = 1}, 1200);
	over = fragment((struct part){.id = 1, .off = 1192, .len = 16, .more = true});
	gateway_pass(a, f, 1);
	gateway_pass(a, &over, 1);
	expect_drops(a, DROP_FRAGMENT_OVERLAP, 2);
	gateway_pass(a, f, 3);
	expect_drops(a, DROP_FRAGMENT_OVERLAP, 3);
	a->now += TIMEOUT + 1000;
	gateway_pass(a, NULL, 0);
	assert_int_equal(a->n_sent, 0);
	gateway_free(a);
}

// RFC 6946: a whole packet with a fragment header is independent of other fragments.
static void test_atomic_fragment_is_independent(void **state)
{
	struct gateway *a = site_v6_a(OVER_V6, (struct site){0});
	struct frame f[2], atomic;

	(void)state;
	datagram_fill(2000, 9);
	fragments(f, (struct part){.id = 1}, 1200);
	atomic = fragment((struct part){.id = 1, .len = 500, .proto = 253});
	gateway_pass(a, f, 1);
	gateway_expect_sent(a, &atomic, WAN);
	gateway_pass(a, &f[1], 1);
	expect_drops(a, DROP_NONE, 0);
	expect_all_sent(a, 2, WAN);
	gateway_free(a);
}

static void test_congestion(void **state)
{
	struct gateway *a = site_v6_a(OVER_V4, (struct site){0}),
		       *b = site_v6_b(OVER_V4, (struct site){0});
	struct frame f[2], wire[2];

	(void)state;
	datagram_fill(2000, 9);
	fragments(f, (struct part){.id = 1, .tos = 0x2a}, 1200);
	f[1] = fragment((struct part){.id = 1, .off = 1200, .len = 800, .tos = 0x2b});
	gateway_pass(a, f, 2);
	expect_all_sent(a, 2, WAN);
	for (unsigned int i = 0; i < 2; i++)
		wire[i] = frame_carry(&a->sent[i]);
	gateway_pass(b, wire, 2);
	expect_all_sent(b, 2, LAN);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(be32(frame_packet(&b->sent[i])) >> 20 & 0xff, 0x2b);
	f[1] = fragment((struct part){.id = 1, .off = 1200, .len = 800, .tos = 0x28});
	f[0] = fragment((struct part){.id = 1, .len = 1200, .more = true, .tos = 0x2b});
	gateway_pass(a, f, 2);
	expect_drops(a, DROP_FRAGMENT_ECN, 2);
	gateway_free(a);
	gateway_free(b);
}

static void test_late(void **state)
{
	struct gateway *a = site_v6_a(OVER_V6, (struct site){0});
	struct frame f[2];

	(void)state;
	datagram_fill(2000, 9);
	fragments(f, (struct part){.id = 1}, 1200);
	for (unsigned int i = 0; i < 2; i++) {
		gateway_pass(a, &f[i], 1);
		a->now += TIMEOUT + 1000;
		gateway_pass(a, NULL, 0);
		expect_drops(a, DROP_FRAGMENT_TIMEOUT, 1);
		if (i == 0)
			expect_error_sent(a, 3, 1, 0, &f[0]);
		else
			assert_int_equal(a->n_sent, 0);
	}
	gateway_free(a);
}

// In transport mode the fragments of the ESP packet are those of the inner packet (RFC 4303 3.3.4):
// the gateway before the host must not drop it for a size that its source cannot change.
static void test_transport(void **state)
{
	static const uint32_t sizes[] = {60000, 9 * STEP, 2000, 1460};
	struct gateway *a = site_transport(1, (struct site){0}),
		       *b = site_transport(2, (struct site){0});
	static struct frame f[64], wire[64];

	(void)state;
	for (uint32_t i = 0; i < COUNT_OF(sizes); i++) {
		unsigned int n;

		datagram_fill(sizes[i], 9);
		n = fragments(f, (struct part){.id = i + 1}, STEP);
		gateway_pass(a, f, (uint16_t)n);
		expect_drops(a, DROP_NONE, 0);
		for (n = 0; n < a->n_sent; n++)
			wire[n] = frame_carry(&a->sent[n]);
		gateway_pass(b, wire, (uint16_t)n);
		expect_drops(b, DROP_NONE, 0);
		for (n = 0; n < b->n_sent; n++)
			assert_in_range(frame_packet_len(&b->sent[n]), IP6_LEN, 1500);
		collect_all(b, NULL);
		expect_complete();
	}
	datagram_fill(65535, 9); // with ESP no header can tell its length
	gateway_pass(a, f, fragments(f, (struct part){.id = 9}, STEP));
	expect_drops(a, DROP_FRAME_SCATTERED, 1);
	gateway_free(a);
	gateway_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_sizes),
		pipeline_test(test_short_after_options),
		pipeline_test(test_oversized_is_dropped_where_needed_whole),
		pipeline_test(test_oversized_is_not_for_the_host),
		pipeline_test(test_headers_in_front),
		pipeline_test(test_errors_sent),
		pipeline_test(test_overlap_drops_silently),
		pipeline_test(test_atomic_fragment_is_independent),
		pipeline_test(test_congestion),
		pipeline_test(test_late),
		pipeline_test(test_transport),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
