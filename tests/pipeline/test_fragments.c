// SPDX-License-Identifier: BSD-3-Clause
// Received fragments (RFC 791 3.2). Proves that they are reassembled before policy and ESP, in any
// order; and that fragments which make no packet, or are too many, are dropped.
#include <netinet/in.h>

#include "peer.h"
#include "site.h"

#define REASSEMBLY_MAX 64 // the harness's
#define TIMEOUT        (30 * (uint64_t)TSC_HZ)

// The payload octets from at on of a whole packet, as a fragment.
static struct frame fragment(const struct frame *whole, uint16_t at, uint16_t len, bool more)
{
	struct frame f = *whole;
	uint8_t *ip = f.b + ETH_LEN;

	memcpy(ip + IP_LEN, frame_packet(whole) + IP_LEN + at, len);
	f.len = (uint16_t)(ETH_LEN + IP_LEN + len);
	put16(ip + 2, IP_LEN + len);
	put16(ip + 6, at / 8u | (more ? MF : 0));
	ip_checksum_update(ip);
	return f;
}

// Fragments a packet into n fragments of about the same size.
static void fragment_packet(struct frame out[], unsigned int n, const struct frame *whole)
{
	uint16_t payload = (uint16_t)(frame_packet_len(whole) - IP_LEN);
	uint16_t step = (uint16_t)((payload / n + 7) / 8 * 8);

	for (unsigned int i = 0; i < n; i++) {
		uint16_t at = (uint16_t)(i * step);
		bool more = i + 1 < n;

		out[i] = fragment(whole, at, more ? step : (uint16_t)(payload - at), more);
	}
}

static void expect_payload(const uint8_t *packet, uint16_t len, const struct frame *whole)
{
	assert_int_equal(len, frame_packet_len(whole));
	assert_int_equal(be16(packet + 6), 0);
	assert_int_equal(checksum(packet, IP_LEN), 0);
	assert_memory_equal(packet + 12, frame_packet(whole) + 12, len - 12u);
}

// The reassembled packet has ports: a policy with ports sends it into its tunnel.
static void test_reassembled_out_has_ports(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "to-b");
	struct ipv4 ip = FROM_TO("10.1.0.5", "10.4.0.9", .dport = 5005, .len = 1400);
	uint64_t seed = 4;

	(void)state;
	for (ip.id = 1; ip.id < 200; ip.id++) {
		struct frame whole = frame_ip(LAN, ip), f[8];
		unsigned int n = 2 + ip.id % 7;
		uint8_t inner[FRAME_MAX];

		fragment_packet(f, n, &whole);
		frames_shuffle(f, n, &seed);
		gateway_pass(g, f, n - 1);
		assert_int_equal(g->n_sent, 0);
		assert_int_equal(worker_held(g->w), n - 1);
		gateway_expect_sent(g, &f[n - 1], WAN);
		assert_int_equal(g->last.local, n - 1);
		assert_int_equal(worker_held(g->w), 0);
		expect_payload(inner, peer_open(&b, &g->sent[0], inner), &whole);
	}
	ip.dport = 5011;

	struct frame whole = frame_ip(LAN, ip), f[3];

	fragment_packet(f, 3, &whole);
	gateway_pass(g, f, 3);
	expect_drops(g, DROP_NO_POLICY, 1);
	peer_free(&b);
	gateway_free(g);
}

// In one burst among others' packets, and larger than any frame.
static void test_larger_than_any_frame(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct ipv4 ip = FROM_TO("10.1.0.5", "10.7.0.5", .len = 2300, .id = 3);
	struct frame whole = frame_ip(LAN, ip), f[5];

	(void)state;
	fragment_packet(f, 4, &whole);
	f[4] = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.7.0.5"));
	gateway_pass(g, f, 5);
	expect_drops(g, DROP_NONE, 0);
	// 2280 octets of payload in fragments of 576, and the small packet.
	expect_all_sent(g, 4 + 1, DMZ);
	gateway_free(g);
}

// ESP packets fragmented by a router on the path.
static void test_esp_fragmented_on_path(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b");
	struct ipv4 ip = FROM_TO("10.2.0.5", "10.1.0.5", .len = 1400);
	uint32_t seq = 0;

	(void)state;
	for (unsigned int n = 2; n <= 8; n++) {
		struct frame whole = peer_seal_ip(&b, ++seq, ip), f[8];

		put16(whole.b + ETH_LEN + 4, seq);
		fragment_packet(f, n, &whole);
		gateway_pass(g, f, n - 1);
		gateway_expect_sent(g, &f[n - 1], LAN);
		assert_int_equal(frame_packet_len(&g->sent[0]), ip.len);
	}
	// Fragmentation does not bypass the replay check.
	struct frame whole = peer_seal_ip(&b, seq, ip), f[2];

	fragment_packet(f, 2, &whole);
	gateway_pass(g, f, 2);
	expect_drops(g, DROP_REPLAY, 1);
	peer_free(&b);
	gateway_free(g);
}

// A large ESP packet with a small inner packet: padding for traffic flow confidentiality.
static void test_esp_mostly_padding(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b");
	uint8_t text[FRAME_MAX] = {0};
	struct frame whole, f[2];

	(void)state;
	ip_write(text, (struct ipv4)FROM_TO("10.2.0.5", "10.1.0.5", .len = 100));
	whole = peer_seal(&b, (struct esp){.seq = 1,
				      .text = text,
				      .text_len = peer_trailer(&b, text, 2200, IPPROTO_IPIP)});
	fragment_packet(f, 2, &whole);
	gateway_pass(g, f, 1);
	gateway_expect_sent(g, &f[1], LAN);
	assert_int_equal(frame_packet_len(&g->sent[0]), 100);
	peer_free(&b);
	gateway_free(g);
}

// Fragments inside the tunnel, for a policy with ports.
static void test_reassembled_in_has_ports(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b");
	struct ipv4 ip = FROM_TO("10.4.0.9", "10.1.0.5", .sport = 5005, .len = 1300, .id = 9);
	struct frame whole = frame_ip(WAN, ip), f[3], sealed[3];

	(void)state;
	fragment_packet(f, 3, &whole);
	for (uint32_t i = 0; i < 3; i++)
		sealed[i] =
			peer_seal_packet(&b, i + 1, frame_packet(&f[i]), frame_packet_len(&f[i]));
	gateway_pass(g, &sealed[1], 2);
	assert_int_equal(g->n_sent, 0);
	gateway_expect_sent(g, &sealed[0], LAN);
	whole.b[ETH_LEN + 8]--;
	expect_payload(frame_packet(&g->sent[0]), frame_packet_len(&g->sent[0]), &whole);
	peer_free(&b);
	gateway_free(g);
}

// Fragments from inside and outside the tunnel, or from two ports, are never reassembled together.
static void test_fragments_of_two_origins_stay_apart(void **state)
{
	struct gateway *g = site_a((struct site){
		.policies = ", { name = \"roaming\"; local = \"10.4.0.0/24\"; remote = "
			    "\"10.1.0.0/24\"; action = \"bypass\"; }"});
	struct peer b = peer_new(g, "from-b");
	struct ipv4 ip = FROM_TO("10.4.0.5", "10.1.0.5", .len = 600, .id = 9);
	struct frame whole = frame_ip(WAN, ip), f[2], sealed;

	(void)state;
	fragment_packet(f, 2, &whole);
	sealed = peer_seal_packet(&b, 1, frame_packet(&f[0]), frame_packet_len(&f[0]));
	gateway_pass(g, &sealed, 1);
	gateway_pass(g, &f[1], 1); // in clear
	assert_int_equal(g->n_sent, 0);
	assert_int_equal(worker_held(g->w), 2);
	f[0].port = LAN;
	memcpy(f[0].b, mac_of_port(LAN), 6);
	gateway_pass(g, &f[0], 1); // from a port of the other side
	expect_drops(g, DROP_NONE, 0);
	assert_int_equal(g->n_sent, 0);
	assert_int_equal(worker_held(g->w), 3);
	f[1].port = DMZ;
	memcpy(f[1].b, mac_of_port(DMZ), 6);
	gateway_pass(g, &f[1], 1); // from another port of the same side
	expect_drops(g, DROP_NONE, 0);
	assert_int_equal(g->n_sent, 0);
	assert_int_equal(worker_held(g->w), 4);
	gateway_free(g);
	peer_free(&b);
}

static uint64_t dropped_fragments(const struct gateway *g)
{
	const uint64_t *drops = g->w->counters.drops;

	return drops[DROP_FRAGMENT_INVALID] + drops[DROP_FRAGMENT_OVERLAP] +
	       drops[DROP_FRAGMENT_TIMEOUT];
}

// Fragments that make no packet: nothing is sent, and in the end all are counted.
static void test_invalid_fragments_are_counted(void **state)
{
	static const struct {
		const char *name;
		struct {
			uint16_t at, len;
			bool more;
		} f[3];
		unsigned int n;
	} rows[] = {
		{"overlap", {{0, 104, true}, {96, 104, false}}, 2},
		{"overlap inside", {{0, 200, true}, {96, 48, true}, {200, 80, false}}, 3},
		{"two ends", {{104, 96, false}, {104, 40, false}, {0, 104, true}}, 3},
		{"end before the others", {{200, 80, true}, {104, 40, false}, {0, 104, true}}, 3},
		{"a hole", {{0, 104, true}, {112, 96, false}}, 2},
		{"no end", {{0, 104, true}, {104, 96, true}}, 2},
		{"no beginning", {{104, 96, true}, {200, 96, false}}, 2},
		{"not a multiple of 8", {{0, 101, true}, {104, 96, false}}, 2},
		{"empty", {{0, 0, true}, {0, 104, true}}, 2},
		{"empty end", {{0, 104, true}, {104, 0, false}}, 2},
	};
	struct gateway *g = site_a((struct site){0});

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct ipv4 ip =
			FROM_TO("10.1.0.5", "10.2.0.5", .len = 1000, .id = (uint16_t)(i + 1));
		struct frame whole = frame_ip(LAN, ip);
		uint64_t before = dropped_fragments(g);

		print_message("%s\n", rows[i].name);
		for (unsigned int k = 0; k < rows[i].n; k++) {
			struct frame f = fragment(
				&whole, rows[i].f[k].at, rows[i].f[k].len, rows[i].f[k].more);

			gateway_pass(g, &f, 1);
			assert_int_equal(g->n_sent, 0);
		}
		g->now += TIMEOUT + 1000;
		gateway_pass(g, NULL, 0);
		assert_int_equal(worker_held(g->w), 0);
		assert_int_equal(dropped_fragments(g) - before, rows[i].n);
	}
	assert_true(g->w->counters.drops[DROP_FRAGMENT_INVALID] > 0);
	assert_true(g->w->counters.drops[DROP_FRAGMENT_OVERLAP] > 0);
	assert_true(g->w->counters.drops[DROP_FRAGMENT_TIMEOUT] > 0);
	gateway_free(g);
}

// Longer than any IP packet.
static void test_too_long(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct ipv4 ip = FROM_TO("10.1.0.5", "10.1.0.1", .len = 1500, .id = 1, .proto = 1);
	struct frame first = frame_ip(LAN, ip), last = first;

	(void)state;
	put16(first.b + ETH_LEN + 6, MF);
	ip_checksum_update(first.b + ETH_LEN);
	put16(last.b + ETH_LEN + 6, 0x1fff);
	ip_checksum_update(last.b + ETH_LEN);
	gateway_pass(g, &first, 1);
	expect_drops(g, DROP_NONE, 0);
	gateway_pass(g, &last, 1);
	expect_drops(g, DROP_FRAGMENT_INVALID, 1);
	g->now += TIMEOUT + 1000;
	gateway_pass(g, NULL, 0);
	expect_drops(g, DROP_FRAGMENT_TIMEOUT, 1);
	gateway_free(g);
}

static void test_timeout(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct ipv4 ip = FROM_TO("10.1.0.5", "10.2.0.5", .len = 1000, .id = 1);
	struct frame whole = frame_ip(LAN, ip), f[3];

	(void)state;
	fragment_packet(f, 3, &whole);
	gateway_pass(g, f, 2);
	g->now += TIMEOUT - 2000;
	gateway_pass(g, NULL, 0);
	expect_drops(g, DROP_NONE, 0);
	g->now += 4000;
	gateway_pass(g, NULL, 0);
	expect_drops(g, DROP_FRAGMENT_TIMEOUT, 2);
	gateway_pass(g, &f[2], 1); // too late
	assert_int_equal(g->n_sent, 0);
	assert_int_equal(worker_held(g->w), 1);
	gateway_free(g);
}

// First fragments alone, more than there is room for: held and dropped, never more held than
// allowed, and whole packets are forwarded.
static void test_flood(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct ipv4 ip = FROM_TO("10.1.0.5", "10.2.0.5", .len = 1000);
	struct frame good = frame_ip(LAN, ip);

	(void)state;
	for (ip.id = 0; ip.id < 2000; ip.id++) {
		struct frame whole = frame_ip(LAN, ip), f[2];

		fragment_packet(f, 2, &whole);
		gateway_pass(g, f, 1);
		assert_in_range(worker_held(g->w), 1, REASSEMBLY_MAX);
		g->now += 10;
	}
	gateway_expect_sent(g, &good, WAN);
	g->now += TIMEOUT + 1000;
	gateway_pass(g, NULL, 0); // rate in each millisecond
	g->now += 1000;
	gateway_pass(g, NULL, 0);
	assert_int_equal(worker_held(g->w), 0);
	gateway_free(g);
}

static void test_no_buffer(void **state)
{
	struct rte_mempool *large = rte_mempool_lookup("large");
	struct gateway *g = site_a((struct site){0});
	struct ipv4 ip = FROM_TO("10.1.0.5", "10.2.0.5", .len = 2300, .id = 1);
	struct frame whole = frame_ip(LAN, ip), f[2];
	struct rte_mbuf *hoard = NULL, *m;

	(void)state;
	assert_non_null(large);
	while ((m = rte_pktmbuf_alloc(large)) != NULL) {
		m->next = hoard;
		hoard = m;
	}
	fragment_packet(f, 2, &whole);
	gateway_pass(g, f, 2);
	expect_drops(g, DROP_NO_BUFFER, 2);
	for (; hoard != NULL; hoard = m) {
		m = hoard->next;
		hoard->next = NULL;
		rte_pktmbuf_free(hoard);
	}
	gateway_free(g);
}

static void test_shutdown(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct ipv4 ip = FROM_TO("10.1.0.5", "10.2.0.5", .len = 1000, .id = 1);
	struct frame whole = frame_ip(LAN, ip), f[3];

	(void)state;
	fragment_packet(f, 3, &whole);
	gateway_pass(g, f, 2);
	assert_int_equal(worker_held(g->w), 2);
	pipeline_stop(g->w);
	assert_int_equal(g->w->counters.drops[DROP_SHUTDOWN], 2);
	gateway_free(g);
}

// The reply to a ping of many fragments has many fragments.
static void test_large_ping_is_answered(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct ipv4 ip =
		FROM_TO("10.1.0.5", "10.1.0.1", .len = 2300, .id = 1, .proto = 1, .icmp_type = 8);
	struct frame whole = frame_ip(LAN, ip), f[4];

	(void)state;
	fragment_packet(f, 4, &whole);
	gateway_pass(g, f, 4);
	expect_drops(g, DROP_NONE, 0);
	expect_all_sent(g, 2, LAN);
	assert_int_equal(frame_packet_len(&g->sent[0]) + frame_packet_len(&g->sent[1]), 2300 + 20);
	gateway_free(g);
}

// A ping in fragments with DF that fits into one packet is answered by one as long as it.
static void test_short_ping_is_answered(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct ipv4 ip =
		FROM_TO("10.1.0.5", "10.1.0.1", .len = 100, .id = 1, .proto = 1, .icmp_type = 8);
	struct frame whole = frame_ip(LAN, ip), f[2];

	(void)state;
	fragment_packet(f, 2, &whole);
	for (unsigned int i = 0; i < 2; i++) {
		f[i].b[ETH_LEN + 6] |= DF >> 8;
		ip_checksum_update(f[i].b + ETH_LEN);
	}
	gateway_pass(g, f, 2);
	expect_drops(g, DROP_NONE, 0);
	expect_all_sent(g, 1, LAN);
	assert_int_equal(frame_packet_len(&g->sent[0]), 100);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_reassembled_out_has_ports),
		pipeline_test(test_larger_than_any_frame),
		pipeline_test(test_esp_fragmented_on_path),
		pipeline_test(test_esp_mostly_padding),
		pipeline_test(test_reassembled_in_has_ports),
		pipeline_test(test_fragments_of_two_origins_stay_apart),
		pipeline_test(test_invalid_fragments_are_counted),
		pipeline_test(test_too_long),
		pipeline_test(test_timeout),
		pipeline_test(test_flood),
		pipeline_test(test_no_buffer),
		pipeline_test(test_shutdown),
		pipeline_test(test_large_ping_is_answered),
		pipeline_test(test_short_ping_is_answered),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
