// SPDX-License-Identifier: BSD-3-Clause
// Two gateways and the network between them. Proves that packets of all sizes and kinds reach the
// other side unchanged, and that bursts have the same results as single packets.
#include <netinet/in.h>

#include "openssl_session.h"
#include "peer.h"
#include "site.h"

// One packet from the LAN of one to the LAN of the other.
static void check_one(struct gateway *from, struct gateway *to, struct ipv4 ip)
{
	struct frame in = frame_ip(LAN, ip), wire;

	wire = frame_carry(gateway_expect_sent(from, &in, WAN));
	expect_arrived(gateway_expect_sent(to, &wire, LAN), &in);
}

static void check_algorithm(const char *cipher, const char *auth)
{
	struct site s = {.cipher = cipher, .auth = auth};
	struct gateway *a = site_a(s), *b = site_b(s);
	struct ipv4 to_b = FROM_TO("10.1.0.5", "10.2.0.5", .proto = 253);
	struct ipv4 to_a = FROM_TO("10.2.0.5", "10.1.0.5", .proto = 253);
	uint64_t seed = 6;

	print_message("%s %s\n", cipher, auth);
	for (uint16_t len = 20; len <= 1422; len++) { // fits with the longest IV and ICV
		to_b.len = to_a.len = len;
		to_b.id = to_a.id = (uint16_t)random_u64(&seed);
		to_b.tos = (uint8_t)(random_u64(&seed) & 0xfd); // ECT(1) or none
		to_b.frag = len % 3 == 0 ? DF : 0;
		check_one(a, b, to_b);
		check_one(b, a, to_a);
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

// Whole bursts, in order, with packets that are fragmented on the path and reassembled.
static void test_bursts_with_fragments(void **state)
{
	static struct frame in[RX_BURST_MAX], wire[RX_BURST_MAX];
	struct gateway *a = site_a((struct site){0}), *b = site_b((struct site){0});
	uint64_t seed = 8;

	(void)state;
	for (unsigned int round = 0; round < 100; round++) {
		unsigned int n = 1 + random_below(&seed, RX_BURST_MAX / 2);

		for (unsigned int i = 0; i < n; i++) {
			struct ipv4 ip =
				FROM_TO("10.1.0.5", "10.2.0.5", .id = (uint16_t)i, .proto = 253);

			ip.len = (uint16_t)(20 + random_below(&seed, 1481));
			in[i] = frame_ip(LAN, ip);
		}
		gateway_pass(a, in, n);
		expect_drops(a, DROP_NONE, 0);
		assert_in_range(a->n_sent, n, 2 * n);
		for (unsigned int i = 0; i < a->n_sent; i++)
			wire[i] = frame_carry(&a->sent[i]);
		gateway_pass(b, wire, a->n_sent);
		expect_drops(b, DROP_NONE, 0);
		assert_int_equal(worker_held(b->w), 0);
		expect_all_sent(b, n, LAN);
		for (unsigned int i = 0; i < n; i++) // the fragmented ones are last
			expect_arrived(&b->sent[i], &in[be16(frame_packet(&b->sent[i]) + 4)]);
	}
	gateway_free(a);
	gateway_free(b);
}

// From one tunnel into another: B and C reach each other through A.
static void test_from_tunnel_into_tunnel(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer from_b = peer_new(g, "from-b"), to_b = peer_new(g, "to-b");
	struct peer from_c = peer_new(g, "from-c"), to_c = peer_new(g, "to-c");
	struct ipv4 ip = FROM_TO("10.2.0.5", "10.3.0.5", .proto = 253);
	uint8_t inner[FRAME_MAX], right[FRAME_MAX];
	uint32_t seq = 0;

	(void)state;
	for (ip.len = 20; ip.len < 1400; ip.len = (uint16_t)(ip.len + 3)) {
		struct frame f;

		ip.src = "10.2.0.5";
		ip.dst = "10.3.0.5";
		f = peer_seal_ip(&from_b, ++seq, ip);
		gateway_expect_sent(g, &f, WAN);
		assert_int_equal(peer_open(&to_c, &g->sent[0], inner), ip_write(right, ip));
		right[8]--; // one hop: this gateway
		ip_checksum_update(right);
		assert_memory_equal(inner, right, ip.len);
		ip.src = "10.3.0.5";
		ip.dst = "10.2.0.5";
		f = peer_seal_ip(&from_c, seq, ip);
		gateway_expect_sent(g, &f, WAN);
		assert_int_equal(peer_open(&to_b, &g->sent[0], inner), ip.len);
	}
	peer_free(&from_b);
	peer_free(&to_b);
	peer_free(&from_c);
	peer_free(&to_c);
	gateway_free(g);
}

// A session that fails with every other packet.

static bool fail_some(const struct session *s, struct crypto_op *op, unsigned int worker)
{
	(void)s;
	(void)worker;
	return op->seq % 2 == 0;
}

static void test_crypto_fails(void **state)
{
	static struct frame f[10];
	struct gateway *g = site_a((struct site){.more = "engine = \"openssl\";"});
	struct session *broken = (struct session *)gateway_sa_out(g, "to-b")->sa.per_packet.session;

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(f); i++)
		f[i] = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5"));
	broken->run = fail_some;
	gateway_pass(g, f, COUNT_OF(f));
	expect_drops(g, DROP_CRYPTO_FAILED, COUNT_OF(f) / 2);
	expect_all_sent(
		g, COUNT_OF(f) / 2, WAN); // packets that failed are never sent, not even in clear
	for (unsigned int i = 0; i < g->n_sent; i++)
		assert_int_equal(esp_seq(&g->sent[i]), 2 * i + 2);
	assert_int_equal(
		sa_dropped(gateway_sa_counted(g, "to-b"), DROP_CRYPTO_FAILED), COUNT_OF(f) / 2);
	gateway_free(g);
}

// Bursts of everything

#define KINDS     24
#define FIRST_ESP 19 // of them

struct outcome {
	uint64_t drops[DROP_COUNT];
	uint64_t sent[DMZ + 1];
	uint64_t originated, local;
};

static void outcome_add(struct outcome *o, const struct gateway *g)
{
	for (int d = 0; d < DROP_COUNT; d++)
		o->drops[d] += g->last.drops[d];
	for (unsigned int i = 0; i < g->n_sent; i++)
		o->sent[g->sent[i].port]++;
	o->originated += g->last.originated;
	o->local += g->last.local;
}

// One frame of each kind; ESP has the number seq, which is new.
static void kinds_make(
	struct frame f[KINDS], const struct peer *b, const struct peer *c, uint32_t seq)
{
	struct frame *next = f;

	*next++ = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5"));
	*next++ = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5", .len = 1500));
	*next++ = frame_ip(
		LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5", .len = 1500, .frag = DF));
	*next++ = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.2.0.5", .ttl = 1));
	*next++ = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.3.0.5"));
	*next++ = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "198.51.100.9"));
	*next++ = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "198.18.0.9"));
	*next++ = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "203.0.113.9"));
	*next++ = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.7.0.5", .len = 1300));
	*next++ = frame_ip(
		LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.1.0.1", .proto = 1, .icmp_type = 8));
	*next++ = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", "10.1.0.1", .dport = 53));
	*next++ = frame_ip(LAN, (struct ipv4)FROM_TO("127.0.0.1", "10.2.0.5"));
	*next++ = frame_ip(WAN, (struct ipv4)FROM_TO("10.2.0.5", "10.1.0.5"));
	*next++ = frame_ip(WAN, (struct ipv4)FROM_TO("198.51.100.9", "10.1.0.5"));
	*next++ = frame_ip(
		WAN, (struct ipv4)FROM_TO("192.0.2.2", "192.0.2.1", .proto = 1, .icmp_type = 8));
	*next++ = frame_ip(WAN, (struct ipv4)FROM_TO("192.0.2.2", "192.0.2.1", .proto = 50));
	*next++ = frame_arp(LAN, 1, "10.1.0.5", "10.1.0.1");
	*next++ = frame_arp(WAN, 2, "192.0.2.2", "192.0.2.1");
	*next++ = frame_arp(LAN, 7, "10.1.0.5", "10.1.0.1");
	*next++ = peer_seal_ip(b, seq, (struct ipv4)FROM_TO("10.2.0.5", "10.1.0.5"));
	*next++ = peer_seal_ip(b, seq + 1, (struct ipv4)FROM_TO("10.2.0.5", "10.3.0.5"));
	*next++ = peer_seal_ip(b, seq + 2, (struct ipv4)FROM_TO("10.2.0.5", "10.1.0.5", .ttl = 1));
	*next++ = peer_seal_ip(b, seq + 3,
		(struct ipv4)FROM_TO("10.2.0.5", "10.1.0.1", .proto = 1, .icmp_type = 8));
	*next++ = peer_seal_ip(c, seq, (struct ipv4)FROM_TO("10.2.0.5", "10.1.0.5"));
	assert_ptr_equal(next, f + KINDS);
}

static void test_mixed_bursts(void **state)
{
	static struct frame kinds[KINDS], burst[RX_BURST_MAX];
	struct site s = {.errors_per_second = 1000000, .window = 65536};
	struct gateway *g = site_a(s);
	struct peer b = peer_new(g, "from-b"), c = peer_new(g, "from-c");
	static struct outcome alone[KINDS]; // on the stack, gcc 12.2 misaligns them at some sizes
	uint64_t seed = 12;
	uint32_t seq = 1;

	(void)state;
	kinds_make(kinds, &b, &c, seq);
	for (unsigned int k = 0; k < KINDS; k++) {
		gateway_pass(g, &kinds[k], 1);
		outcome_add(&alone[k], g);
	}
	for (unsigned long round = 0; round < rounds(300); round++) {
		struct outcome right = {0}, found = {0};
		unsigned int n = 1 + random_below(&seed, RX_BURST_MAX);

		for (unsigned int i = 0; i < n; i++) {
			unsigned int k = random_below(&seed, KINDS);

			if (k >= FIRST_ESP)
				kinds_make(kinds, &b, &c, seq += 4);
			burst[i] = kinds[k];
			for (int d = 0; d < DROP_COUNT; d++)
				right.drops[d] += alone[k].drops[d];
			for (unsigned int p = LAN; p <= DMZ; p++)
				right.sent[p] += alone[k].sent[p];
			right.originated += alone[k].originated;
			right.local += alone[k].local;
		}
		gateway_pass(g, burst, n);
		outcome_add(&found, g);
		assert_memory_equal(&found, &right, sizeof(found));
		g->now += TSC_HZ; // the rate limit of errors recovers
		while (rte_ring_count(g->w->events) > 0) {
			struct event e;

			worker_event_dequeue(g->w, &e);
		}
	}
	peer_free(&b);
	peer_free(&c);
	gateway_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_every_algorithm),
		pipeline_test(test_bursts_with_fragments),
		pipeline_test(test_from_tunnel_into_tunnel),
		pipeline_test(test_crypto_fails),
		pipeline_test(test_mixed_bursts),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
