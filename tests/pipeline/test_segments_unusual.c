// SPDX-License-Identifier: BSD-3-Clause
// Frames larger than the MTU that are not cut into TCP segments: UDP datagrams become fragments,
// the host gets a segment as it is, and a frame that lies is dropped by name.
#include <netinet/in.h>

#include "datagram.h"
#include "large.h"

// --- UDP ---

static void check_datagram(struct gateway *g, struct large l, const struct peer *peer)
{
	uint8_t *udp = large_raw + ETH_LEN + large_head(l);

	l.proto = IPPROTO_UDP;
	large_write(l);
	datagram_fill(l.len - large_head(l), 9);
	memcpy(udp, whole.b, whole.len);
	put16(udp + 4, whole.len);
	put16(udp + 6, 0xbeef);
	struct rte_mbuf *m = large_raw_mbuf(l);

	gateway_pass_mbufs(g, &m, 1);
	expect_drops(g, DROP_NONE, 0);
	assert_true(g->n_sent >= whole.len / (l.size + 8u));
	collect_all(g, peer);
	assert_int_not_equal(be16(arrived.b + 6), 0xbeef); // it is right: see test_l4_checksum.c
	memcpy(whole.b + 4, arrived.b + 4, 4);
	expect_complete();
}

static void test_datagrams_become_fragments(void **state)
{
	struct gateway *g = site_v6_a(OVER_V4, (struct site){0});
	struct peer peer = peer_new(g, "out");

	(void)state;
	check_datagram(g, (struct large){.len = 60000, .size = 1480}, &peer);
	check_datagram(g, (struct large){.len = 60000, .size = 1280, .frag = DF}, &peer);
	check_datagram(g, (struct large){.v6 = true, .len = 60000, .size = 1280}, &peer);
	check_datagram(g, (struct large){.v6 = true, .len = 1000, .size = 1280}, &peer);
	peer_free(&peer);
	gateway_free(g);
}

// --- frames that lie ---

// One frame whose octets were changed after it was written.
static void expect_malformed(struct gateway *g, struct large l, enum drop reason)
{
	struct rte_mbuf *m = large_raw_mbuf(l);

	gateway_pass_mbufs(g, &m, 1);
	expect_drops(g, reason, 1);
	assert_int_equal(g->n_sent, 0);
}

static void check_lies(struct gateway *g, const struct large l)
{
	uint8_t *ip = large_raw + ETH_LEN, *tcp = ip + large_head(l);
	struct large lie = l;

	large_write(l);
	lie.size = 0;
	expect_malformed(g, lie, DROP_SEGMENT_MALFORMED);
	lie.size = (uint16_t)((l.len - large_head(l) - TCP_LEN) / 513); // too many parts
	expect_malformed(g, lie, DROP_SEGMENT_MALFORMED);
	lie = l;
	lie.first = 1000;
	expect_malformed(g, lie, DROP_SEGMENT_MALFORMED);
	lie = l;
	lie.len++; // octets after the packet
	expect_malformed(g, lie, DROP_SEGMENT_MALFORMED);
	lie.len = l.len - 1; // fewer than it announces
	expect_malformed(g, lie, DROP_IP_TRUNCATED);
	for (uint8_t words = 0; words < 5; words++) {
		tcp[12] = (uint8_t)(words << 4);
		expect_malformed(g, l, DROP_SEGMENT_MALFORMED);
	}
	large_write(l);
	tcp[13] = 2; // SYN
	expect_malformed(g, l, DROP_SEGMENT_MALFORMED);
	lie = l;
	for (lie.proto = 1; lie.proto != 0; lie.proto++) {
		if (lie.proto == IPPROTO_TCP ||
			(l.v6 && (lie.proto == IPPROTO_ROUTING || lie.proto == IPPROTO_FRAGMENT ||
					 lie.proto == IPPROTO_DSTOPTS)))
			continue;
		large_write(lie);
		expect_malformed(g, l, DROP_SEGMENT_MALFORMED);
	}
	large_write(l);
	if (!l.v6) {
		put16(ip + 6, MF);
		ip_checksum_update(ip);
		expect_malformed(g, l, DROP_SEGMENT_MALFORMED);
	}
}

static void test_lies(void **state)
{
	struct gateway *g = site_v6_a(OVER_V4, (struct site){0});

	(void)state;
	check_lies(g, (struct large){.len = 60000, .size = 1300});
	check_lies(g, (struct large){.v6 = true, .len = 60000, .size = 1300});
	gateway_free(g);
}

// The TCP header has no payload after it, or ends after the packet.
static void check_tcp_header(struct gateway *g, bool v6)
{
	struct large l = {.v6 = v6, .size = 10};

	for (uint32_t len = 0; len <= 60; len++) {
		l.len = large_head(l) + len;
		large_write(l);
		large_raw[ETH_LEN + large_head(l) + 12] = 15 << 4;
		expect_malformed(g, l, DROP_SEGMENT_MALFORMED);
	}
}

static void test_tcp_header_longer_than_the_frame(void **state)
{
	struct gateway *g = site_v6_a(OVER_V4, (struct site){0});

	(void)state;
	check_tcp_header(g, false);
	check_tcp_header(g, true);
	gateway_free(g);
}

// Lengths of IP headers, and protocols by extension headers.
static void test_ip_headers(void **state)
{
	struct gateway *g = site_v6_a(OVER_V4, (struct site){0});
	const struct large four = {.len = 60000, .size = 1300},
			   six = {.v6 = true, .len = 60000, .size = 1300};
	uint8_t *ip = large_raw + ETH_LEN, *ext = ip + IP6_LEN;

	(void)state;
	large_write(four);
	for (uint8_t words = 0; words < 5; words++) {
		ip[0] = 0x40 | words;
		expect_malformed(g, four, DROP_IP_HEADER);
	}
	large_write(six);
	put16(ip + 4, 0); // a jumbogram
	expect_malformed(g, six, DROP_SEGMENT_MALFORMED);
	large_write(six);
	ip[6] = IPPROTO_DSTOPTS;
	ext[0] = IPPROTO_TCP;
	ext[1] = 255; // longer than the first buffer
	expect_malformed(g, six, DROP_EXT_HEADERS);
	for (unsigned int more = 0; more < 2; more++) { // a fragment: the first, or a later one
		large_write(six);
		ip[6] = IPPROTO_FRAGMENT;
		ext[0] = IPPROTO_TCP;
		ext[1] = 0;
		put16(ext + 2, more ? 1 : 8);
		expect_malformed(g, six, DROP_SEGMENT_MALFORMED);
	}
	gateway_free(g);
}

static void check_datagram_lies(struct gateway *g, struct large l)
{
	uint8_t *udp = large_raw + ETH_LEN + large_head(l);
	struct large lie = l;

	large_write(l);
	put16(udp + 4, l.len - large_head(l));
	lie.size = 0;
	expect_malformed(g, lie, DROP_SEGMENT_MALFORMED);
	for (lie.size = 1; lie.size < 8; lie.size++) // less than a fragment may have
		expect_malformed(g, lie, DROP_SEGMENT_MALFORMED);
	lie.size = (uint16_t)(l.len / 8 / 513 * 8); // too many fragments
	expect_malformed(g, lie, DROP_SEGMENT_MALFORMED);
	for (int differ = -1; differ < 2; differ += 2) {
		put16(udp + 4, l.len - large_head(l) + (unsigned int)differ);
		expect_malformed(g, l, DROP_SEGMENT_MALFORMED);
	}
	put16(udp + 4, 7);
	expect_malformed(g, l, DROP_SEGMENT_MALFORMED);
	for (uint32_t len = 0; len < 8; len++) { // no whole header
		l.len = large_head(l) + len;
		large_write(l);
		put16(udp + 4, len);
		expect_malformed(g, l, DROP_SEGMENT_MALFORMED);
	}
}

static void test_datagrams_that_lie(void **state)
{
	struct gateway *g = site_v6_a(OVER_V4, (struct site){0});

	(void)state;
	check_datagram_lies(g, (struct large){.proto = IPPROTO_UDP, .len = 60000, .size = 1280});
	check_datagram_lies(
		g, (struct large){.v6 = true, .proto = IPPROTO_UDP, .len = 60000, .size = 1280});
	gateway_free(g);
}

// No part of ARP is to be cut, and the gateway answers in the buffers of the request.
static void test_arp(void **state)
{
	struct gateway *g = site_a((struct site){0});
	const struct frame arp = frame_arp(LAN, 1, "10.1.0.5", "10.1.0.1");

	(void)state;
	memcpy(large_raw, arp.b, arp.len);
	expect_malformed(g,
		(struct large){.len = (uint32_t)arp.len - ETH_LEN, .size = 100, .first = 50},
		DROP_SEGMENT_MALFORMED);
	gateway_free(g);
}

// Any octets in the headers: the books balance, and no sanitizer reports an error.
static void test_random_headers(void **state)
{
	struct gateway *g = site_v6_a(OVER_V4, (struct site){0});
	uint64_t seed = 5;

	(void)state;
	for (unsigned long i = 0; i < rounds(3000); i++) {
		const struct large l = {.v6 = i % 2 == 0,
			.len = 1000 + random_below(&seed, 60000),
			.size = (uint16_t)random_u64(&seed),
			.first = (uint16_t)(20 + random_below(&seed, FIRST - 20))};
		struct rte_mbuf *m;

		large_write(l);
		for (unsigned int n = random_below(&seed, 4); n > 0; n--)
			large_raw[ETH_LEN + random_below(&seed, 80)] = (uint8_t)random_u64(&seed);
		if (!l.v6)
			ip_checksum_update(large_raw + ETH_LEN);
		m = large_raw_mbuf(l);
		gateway_pass_mbufs(g, &m, 1);
	}
	gateway_free(g);
}

// --- to the host ---

// It gets the segment as it is, with its checksum.
static void test_to_the_host(void **state)
{
	struct gateway *g = site_a_host(
		LAN, (struct site){.more = "rules = ( { name = \"ssh\"; host = true; action = "
					   "\"accept\"; proto = \"tcp\"; } );"});
	const struct large l = {.dst = "10.1.0.1", .len = 9000, .size = 1460};

	(void)state;
	large_pass(g, l);
	expect_drops(g, DROP_NONE, 0);
	assert_int_equal(g->n_punted, 1);
	assert_int_equal(g->punted[0].len, ETH_LEN + 9000);
	assert_int_equal(large_part(l, frame_packet(&g->punted[0]), 9000, 0), 9000 - 40);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_datagrams_become_fragments),
		pipeline_test(test_lies),
		pipeline_test(test_tcp_header_longer_than_the_frame),
		pipeline_test(test_ip_headers),
		pipeline_test(test_datagrams_that_lie),
		pipeline_test(test_arp),
		pipeline_test(test_random_headers),
		pipeline_test(test_to_the_host),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
