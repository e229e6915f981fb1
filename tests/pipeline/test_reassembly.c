// SPDX-License-Identifier: BSD-3-Clause
// Reassembly (RFC 791 3.2): datagrams of all sizes, limits of memory, overlaps, congestion marks,
// ICMP errors about incomplete datagrams.
#include "datagram.h"
#include "site.h"

#define TIMEOUT (30 * (uint64_t)TSC_HZ)
#define STEP    1480 // payload of a fragment of 1500

// Of any size, in any order, fragmented into a tunnel.
static void test_sizes(void **state)
{
	static const uint32_t sizes[] = {65515, 65514, 60000, 9 * STEP, 8 * STEP + 1, 3000};
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "to-b");
	static struct frame f[64];
	uint64_t seed = 3;

	(void)state;
	for (uint16_t i = 0; i < COUNT_OF(sizes); i++) {
		struct ipv4 ip = FROM_TO("10.1.0.5", "10.2.0.5", .id = (uint16_t)(i + 1));
		unsigned int n;

		datagram_fill(sizes[i], 5005);
		n = pieces(f, LAN, ip, STEP);
		frames_shuffle(f, n, &seed);
		gateway_pass(g, f, n);
		expect_drops(g, DROP_NONE, 0);
		assert_int_equal(g->last.local, n - 1);
		collect_all(g, &b);
		expect_complete();
	}
	peer_free(&b);
	gateway_free(g);
}

// Fragmented after encapsulation, so that the ESP packet is received in fragments.
static void test_fragmented_after(void **state)
{
	struct gateway *a = site_a((struct site){.sa_out = "fragment = \"after\";"}),
		       *b = site_b((struct site){0});
	struct ipv4 ip = FROM_TO("10.1.0.5", "10.2.0.5", .id = 1);
	static struct frame f[64], wire[64];
	uint64_t seed = 4;
	unsigned int n;

	(void)state;
	datagram_fill(60000, 5005);
	gateway_pass(a, f, pieces(f, LAN, ip, STEP));
	expect_drops(a, DROP_NONE, 0);
	n = a->n_sent;
	assert_in_range(n, 41, 43);
	for (unsigned int i = 0; i < n; i++)
		wire[i] = frame_carry(&a->sent[i]);
	frames_shuffle(wire, n, &seed);
	gateway_pass(b, wire, n);
	expect_drops(b, DROP_NONE, 0);
	collect_all(b, NULL);
	expect_complete();
	gateway_free(a);
	gateway_free(b);
}

// A duplicate fragment changes nothing.
static void test_duplicate_changes_nothing(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct ipv4 ip = FROM_TO("10.1.0.5", "10.7.0.5", .id = 1);
	struct frame f[4];

	(void)state;
	datagram_fill(4 * STEP, 9);
	pieces(f, LAN, ip, STEP);
	gateway_pass(g, f, 3);
	for (unsigned int i = 0; i < 3; i++) {
		gateway_pass(g, &f[i], 1);
		expect_drops(g, DROP_FRAGMENT_DUPLICATE, 1);
	}
	gateway_pass(g, &f[3], 1);
	collect_all(g, NULL);
	expect_complete();
	gateway_free(g);
}

// RFC 5722: no octet of a datagram with overlapping fragments is used, nor are later fragments of
// it.
static void test_overlap(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct ipv4 ip = FROM_TO("10.1.0.5", "10.7.0.5", .id = 1);
	struct frame f[4], over;

	(void)state;
	datagram_fill(4 * STEP, 9);
	pieces(f, LAN, ip, STEP);
	over = piece(LAN, ip, 8, 16);
	gateway_pass(g, f, 3);
	gateway_pass(g, &over, 1);
	expect_drops(g, DROP_FRAGMENT_OVERLAP, 4);
	assert_int_equal(worker_held(g->w), 0);
	gateway_pass(g, f, 4);
	expect_drops(g, DROP_FRAGMENT_OVERLAP, 4);
	g->now += TIMEOUT + 1000;
	gateway_pass(g, NULL, 0); // silently
	expect_drops(g, DROP_NONE, 0);
	assert_int_equal(g->n_sent, 0);
	gateway_pass(g, f, 4);
	expect_drops(g, DROP_NONE, 0);
	gateway_free(g);
}

// Every fragment could be part of 65535 octets, but with the options of the first the datagram is
// longer.
static void test_too_long(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct ipv4 ip = FROM_TO("10.1.0.5", "10.7.0.5", .id = 1), first = ip;
	static struct frame f[64];
	unsigned int n;

	(void)state;
	datagram_fill(65515, 9);
	n = pieces(f, LAN, ip, 1400);
	first.options = 40;
	f[0] = piece(LAN, first, 0, 1400);
	gateway_pass(g, f, n);
	expect_drops(g, DROP_FRAGMENT_INVALID, n);
	assert_int_equal(worker_held(g->w), 0);
	gateway_free(g);
}

// RFC 791 3.2: source, destination, identification and protocol.
static void test_protocol(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct ipv4 ip = FROM_TO("10.1.0.5", "10.7.0.5", .id = 7);
	struct frame udp[2], other[2];

	(void)state;
	datagram_fill(2 * STEP, 9);
	pieces(udp, LAN, ip, STEP);
	ip.proto = 253;
	pieces(other, LAN, ip, STEP);
	gateway_pass(g, udp, 1);
	gateway_pass(g, other, 1);
	gateway_pass(g, &other[1], 1);
	expect_drops(g, DROP_NONE, 0);
	assert_in_range(g->n_sent, 2, SENT_MAX);
	gateway_pass(g, &udp[1], 1);
	expect_drops(g, DROP_NONE, 0);
	assert_in_range(g->n_sent, 2, SENT_MAX);
	gateway_free(g);
}

// 280 forged first fragments a second, for longer than fragments are held: every datagram is
// reassembled.
static void test_flood_leaves_room_for_others(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct ipv4 ip = FROM_TO("198.51.100.1", "10.1.0.5"), forged = ip;
	unsigned int buffers = 0;
	struct frame f[2];

	(void)state;
	datagram_fill(2000, 9);
	for (uint16_t i = 1; i < 32 * 280; i++) {
		forged.id = i;
		f[0] = piece(WAN, forged, 0, 1000);
		gateway_pass(g, f, 1);
		g->now += TSC_HZ / 280;
		buffers = RTE_MAX(buffers, rte_mempool_in_use_count(harness_pool));
		if (i % 50 != 0)
			continue;
		ip.id = (uint16_t)(i + 40000);
		pieces(f, WAN, ip, 1000);
		gateway_pass(g, &f[0], 1);
		g->now += TSC_HZ / 10;
		arrived.len = 0;
		gateway_pass(g, &f[1], 1);
		collect_all(g, NULL);
		expect_complete();
	}
	assert_in_range(buffers, 60, 64);
	gateway_free(g);
}

// Fragments from outside use no room of the hosts inside, and vice versa.
static void test_sides_have_own_room(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct frame f[2];

	(void)state;
	datagram_fill(2000, 9);
	for (uint16_t id = 1; id <= 60; id++) {
		f[0] = piece(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.7.0.5", .id = id), 0, 1000);
		f[1] = piece(
			WAN, (struct ipv4)FROM_TO("198.51.100.1", "10.1.0.5", .id = id), 0, 1000);
		gateway_pass(g, f, 2);
		expect_drops(g, DROP_NONE, 0);
	}
	assert_int_equal(worker_held(g->w), 120);
	gateway_free(g);
}

// RFC 3168 5.3. The datagrams are sent whole, with the header that the gateway has joined.
static void test_congestion(void **state)
{
	enum { NOT = 0, ECT1 = 1, ECT0 = 2, CE = 3 };
	static const struct {
		uint8_t tos[3];
		int whole;       // -1: dropped
		uint8_t options; // octets, of the first one
	} rows[] = {
		{{ECT0, ECT0, ECT0}, ECT0, 0},
		{{ECT0, CE, ECT0}, CE, 0},
		{{ECT0, ECT0, CE}, CE, 0},
		{{CE, ECT1, ECT0}, CE, 0},
		{{NOT, NOT, NOT}, NOT, 0},
		{{NOT, CE, NOT}, -1, 0},
		{{CE, ECT0, NOT}, -1, 0},
		{{0x28 | ECT1, CE, CE}, 0x28 | CE, 0},
		{{ECT0, ECT0, CE}, CE, 40},
	};
	struct gateway *g = site_a((struct site){0});

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct frame f[3];

		datagram_fill(480, 9);
		for (unsigned int k = 0; k < 3; k++)
			f[k] = piece(LAN,
				(struct ipv4)FROM_TO("10.1.0.5", "10.7.0.5",
					.id = (uint16_t)(i + 1), .tos = rows[i].tos[k],
					.options = k == 0 ? rows[i].options : 0),
				k * 160, 160);
		gateway_pass(g, f, 3);
		if (rows[i].whole < 0) {
			expect_drops(g, DROP_FRAGMENT_ECN, 3);
			continue;
		}
		expect_drops(g, DROP_NONE, 0);
		expect_all_sent(g, 1, DMZ);
		assert_int_equal(frame_packet(&g->sent[0])[1], rows[i].whole);
		assert_int_equal(checksum(frame_packet(&g->sent[0]), IP_LEN + rows[i].options), 0);
		collect_all(g, NULL);
		expect_complete();
	}
	gateway_free(g);
}

// RFC 792: about the first fragment, if that was received.
static void test_late(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct ipv4 ip = FROM_TO("10.1.0.5", "10.2.0.5", .id = 1);
	struct frame f[2];

	(void)state;
	datagram_fill(2000, 9);
	pieces(f, LAN, ip, 1000);
	gateway_pass(g, f, 1);
	g->now += TIMEOUT + 1000;
	gateway_pass(g, NULL, 0);
	expect_drops(g, DROP_FRAGMENT_TIMEOUT, 1);
	expect_all_sent(g, 1, LAN);
	expect_error(frame_packet(&g->sent[0]), frame_packet_len(&g->sent[0]),
		(struct icmp_error){11, 1, 0}, "10.1.0.1", "10.1.0.5", &f[0]);
	gateway_pass(g, &f[1], 1);
	g->now += TIMEOUT + 1000;
	gateway_pass(g, NULL, 0);
	expect_drops(g, DROP_FRAGMENT_TIMEOUT, 1);
	assert_int_equal(g->n_sent, 0);
	gateway_free(g);
}

// Out of a tunnel: the error is sent through it, and not if the SA has changed since.
static void test_late_out_of_tunnel(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct ipv4 ip = FROM_TO("10.2.0.5", "10.1.0.5");
	struct peer b = peer_new(g, "from-b");
	char text[8192];

	(void)state;
	site_a_conf(text, sizeof(text), (struct site){0});
	for (uint16_t reload = 0; reload < 2; reload++) {
		struct frame f, esp;

		ip.id++;
		datagram_fill(2000, 9);
		f = piece(WAN, ip, 0, 1000);
		esp = sealed(&b, ip.id, &f);
		gateway_pass(g, &esp, 1);
		expect_drops(g, DROP_NONE, 0);
		if (reload != 0) {
			struct conf *conf = harness_conf(text, strlen(text), stderr);

			assert_non_null(conf);
			gateway_reload(g, conf);
			conf_free(conf);
		}
		g->now += TIMEOUT + 1000;
		gateway_pass(g, NULL, 0);
		expect_drops(g, DROP_FRAGMENT_TIMEOUT, 1);
		assert_int_equal(g->n_sent, reload == 0);
	}
	peer_free(&b);
	gateway_free(g);
}

// A datagram received as fragments with DF is sent so, with none larger than those received; one
// that is too large even so causes an error.
static void test_dont_fragment(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "to-b");
	struct ipv4 ip = FROM_TO("10.1.0.5", "10.2.0.5", .id = 1, .frag = DF);
	static uint8_t inner[FRAME_MAX];
	struct frame f[3];

	(void)state;
	datagram_fill(1200, 9);
	gateway_pass(g, f, pieces(f, LAN, ip, 400));
	expect_drops(g, DROP_NONE, 0);
	expect_all_sent(g, 3, WAN);
	for (unsigned int i = 0; i < 3; i++) {
		uint16_t len = peer_open(&b, &g->sent[i], inner);

		assert_in_range(len, IP_LEN + 1, IP_LEN + 400);
		assert_int_equal(be16(inner + 6) & DF, DF);
		assert_int_equal(checksum(inner, IP_LEN), 0);
		collect(inner, len);
	}
	expect_complete();
	ip.id++;
	datagram_fill(11, 9); // shorter than any fragment
	upper_write(whole.b, 11, IPPROTO_UDP, 9, 9);
	gateway_pass(g, f, pieces(f, LAN, ip, 8));
	expect_all_sent(g, 1, WAN);
	assert_int_equal(peer_open(&b, &g->sent[0], inner), IP_LEN + 11);
	ip.id++;
	datagram_fill(2000, 9);
	gateway_pass(g, f, pieces(f, LAN, ip, STEP));
	expect_drops(g, DROP_TOO_BIG, 1);
	expect_all_sent(g, 1, LAN);
	peer_free(&b);
	gateway_free(g);
}

static void expect_kept(struct gateway *g, struct ipv4 ip, uint16_t port)
{
	struct frame f = frame_ip(port, ip);
	uint64_t held = worker_held(g->w);

	gateway_pass(g, &f, 1);
	expect_drops(g, DROP_NONE, 0);
	assert_int_equal(worker_held(g->w), held + 1);
}

static void expect_discarded(struct gateway *g, struct ipv4 ip, uint16_t port, enum drop reason)
{
	struct frame f = frame_ip(port, ip);
	uint64_t held = worker_held(g->w);

	gateway_expect_drop(g, &f, reason);
	assert_int_equal(worker_held(g->w), held);
}

// Fragments that policy discards, whatever the other fragments show, use no room.
static void test_dropped_at_once(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct ipv4 ip = {.id = 1, .frag = MF, .len = 60};

#define SENT(s, d) (ip.src = (s), ip.dst = (d), ip.id++, ip)
	(void)state;
	expect_discarded(g, SENT("10.1.0.5", "203.0.113.1"), LAN, DROP_POLICY_DISCARD);
	expect_discarded(g, SENT("10.1.0.5", "100.64.0.1"), LAN, DROP_NO_POLICY);
	expect_discarded(g, SENT("10.2.0.5", "10.1.0.5"), WAN, DROP_CLEAR_TEXT);
	expect_discarded(g, SENT("10.1.0.77", "192.0.2.1"), WAN, DROP_IP_SOURCE);
	expect_discarded(g, SENT("203.0.113.1", "10.1.0.5"), WAN, DROP_POLICY_DISCARD);
	expect_kept(g, SENT("10.1.0.5", "10.2.0.5"), LAN);
	expect_kept(g, SENT("10.1.0.5", "10.1.0.1"), LAN);
	expect_kept(g, SENT("10.1.0.5", "10.4.0.5"), LAN); // some ports are protected
	expect_kept(g, SENT("198.51.100.5", "10.1.0.5"), WAN);
	expect_kept(g, SENT("198.51.100.5", "192.0.2.1"), WAN);
	ip.proto = IPPROTO_TCP;
	expect_discarded(g, SENT("10.1.0.5", "10.4.0.5"), LAN, DROP_NO_POLICY);
	ip.proto = IPPROTO_ESP;
	expect_kept(g, SENT("203.0.113.1", "192.0.2.1"), WAN);
	expect_discarded(g, SENT("203.0.113.1", "10.1.0.5"), WAN, DROP_POLICY_DISCARD);
	expect_discarded(g, SENT("10.1.0.77", "192.0.2.1"), WAN, DROP_IP_SOURCE);
	ip.proto = IPPROTO_ICMP;
	expect_kept(g, SENT("10.2.0.5", "10.1.0.5"), WAN); // may be an admitted error
#undef SENT
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_sizes),
		pipeline_test(test_fragmented_after),
		pipeline_test(test_duplicate_changes_nothing),
		pipeline_test(test_overlap),
		pipeline_test(test_too_long),
		pipeline_test(test_protocol),
		pipeline_test(test_flood_leaves_room_for_others),
		pipeline_test(test_sides_have_own_room),
		pipeline_test(test_congestion),
		pipeline_test(test_late),
		pipeline_test(test_late_out_of_tunnel),
		pipeline_test(test_dont_fragment),
		pipeline_test(test_dropped_at_once),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
