// SPDX-License-Identifier: BSD-3-Clause
// Fragments out of tunnels. Proves that those of different peers are kept apart, that those of one
// datagram are not, and that workers hand them over to each other.
#include "datagram.h"
#include "site.h"

// A peer has no access to the fragments of other peers, and no more room than they leave.
static void test_tunnels_do_not_mix(void **state)
{
	struct gateway *g = site_a((struct site){0});
	struct peer b = peer_new(g, "from-b"), c = peer_new(g, "from-c");
	struct ipv4 ip = FROM_TO("10.2.0.5", "10.1.0.5", .id = 7);
	struct ipv4 flood = FROM_TO("10.3.0.5", "10.1.0.5");
	struct frame f[3], esp;

	(void)state;
	datagram_fill(2000, 9);
	pieces(f, WAN, ip, 800);
	esp = sealed(&b, 1, &f[0]);
	gateway_pass(g, &esp, 1);
	esp = sealed(&c, 1, &f[1]); // the other's addresses
	gateway_expect_drop(g, &esp, DROP_SELECTOR);
	for (uint32_t i = 2; i < 300; i++) {
		struct frame first;

		flood.id = (uint16_t)i;
		first = piece(WAN, flood, 0, 800);
		esp = sealed(&c, i, &first);
		gateway_pass(g, &esp, 1);
	}
	expect_drops(g, DROP_FRAGMENTS_FULL, 1);
	esp = sealed(&b, 2, &f[1]);
	gateway_pass(g, &esp, 1);
	esp = sealed(&b, 3, &f[2]);
	gateway_pass(g, &esp, 1);
	collect_all(g, NULL);
	expect_complete();
	peer_free(&b);
	peer_free(&c);
	gateway_free(g);
}

// A rekey between the fragments of a datagram.
static void test_rekey_between_fragments(void **state)
{
	struct ipv4 ip = FROM_TO("10.2.0.5", "10.1.0.5", .id = 7);
	struct frame f[2], esp;
	struct peer by[2];
	struct gateway *g;

	(void)state;
	g = site_a_two_in();
	by[0] = peer_new(g, "from-b");
	by[1] = peer_new(g, "from-b2");
	datagram_fill(2000, 9);
	pieces(f, WAN, ip, 1000);
	for (unsigned int i = 0; i < 2; i++) {
		esp = sealed(&by[i], 1, &f[i]);
		gateway_pass(g, &esp, 1);
		expect_drops(g, DROP_NONE, 0);
	}
	collect_all(g, NULL);
	expect_complete();
	peer_free(&by[0]);
	peer_free(&by[1]);
	gateway_free(g);
}

// Different workers receive the ESP packets with the fragments of a datagram, as with two SPIs, or
// with one that was fragmented on its path and one that was not.
static void test_workers(void **state)
{
	struct gateway *g[2] = {site_a((struct site){0}), NULL};
	struct worker *workers[2];
	struct peer b = peer_new(g[0], "from-b");
	unsigned int joined[2] = {0};
	uint32_t seq = 0;

	(void)state;
	g[1] = gateway_second(g[0], 1);
	for (unsigned int i = 0; i < 2; i++)
		workers[i] = g[i]->w;
	for (unsigned int i = 0; i < 2; i++)
		worker_peers_set(g[i]->w, workers, 2);
	for (uint16_t id = 1; id <= 1024; id++) {
		struct ipv4 ip = FROM_TO("10.2.0.5", "10.1.0.5", .id = id);
		unsigned int n_sent = 0;
		struct frame f[2], esp;

		datagram_fill(2000, 9);
		pieces(f, WAN, ip, 1000);
		for (unsigned int i = 0; i < 2; i++) {
			esp = sealed(&b, ++seq, &f[i]);
			gateway_pass(g[i], &esp, 1);
			expect_drops(g[i], DROP_NONE, 0);
			n_sent += g[i]->n_sent;
			joined[i] += g[i]->n_sent > 0;
			collect_all(g[i], NULL);
		}
		for (unsigned int i = 0; i < 2; i++) {
			gateway_pass(g[i], NULL, 0);
			expect_drops(g[i], DROP_NONE, 0);
			n_sent += g[i]->n_sent;
			joined[i] += g[i]->n_sent > 0;
			collect_all(g[i], NULL);
		}
		assert_int_equal(n_sent, 2);
		expect_complete();
	}
	assert_in_range(joined[0], 400, 624);
	assert_int_equal(joined[0] + joined[1], 1024);
	assert_int_equal(worker_held(g[0]->w) + worker_held(g[1]->w), 0);
	peer_free(&b);
	gateway_free(g[1]);
	gateway_free(g[0]);
}

// A worker that does not dequeue: fragments without room in its ring are counted, the rest is
// pending, and afterwards all works as before.
static void test_ring_full(void **state)
{
	enum { FRAGMENTS = 5000, RING = 2047 };
	struct gateway *g[2] = {site_a((struct site){0}), NULL};
	const struct worker *stuck;
	struct worker *workers[2];
	struct peer b = peer_new(g[0], "from-b");
	uint64_t full = 0, own = 0;

	(void)state;
	g[1] = gateway_second(g[0], 1);
	for (unsigned int i = 0; i < 2; i++)
		workers[i] = g[i]->w;
	for (unsigned int i = 0; i < 2; i++)
		worker_peers_set(g[i]->w, workers, 2);
	stuck = g[1]->w;
	datagram_fill(2000, 9);
	for (uint16_t i = 1; i <= FRAGMENTS; i++) {
		struct frame f =
			piece(WAN, (struct ipv4)FROM_TO("10.2.0.5", "10.1.0.5", .id = i), 0, 1000);
		struct frame esp = sealed(&b, i, &f);
		unsigned int waiting = rte_ring_count(stuck->handed);

		gateway_pass(g[0], &esp, 1);
		full += g[0]->last.drops[DROP_RING_FULL];
		assert_int_equal(g[0]->last.drops[DROP_RING_FULL] > 0,
			waiting == RING && g[0]->last.drops[DROP_FRAGMENTS_FULL] == 0);
		own += waiting == rte_ring_count(stuck->handed) &&
		       g[0]->last.drops[DROP_RING_FULL] == 0;
	}
	assert_in_range(full, 1, FRAGMENTS);
	assert_int_equal(own + full + RING, FRAGMENTS);
	assert_int_equal(worker_held(stuck), RING);
	while (!rte_ring_empty(stuck->handed))
		gateway_pass(g[1], NULL, 0);
	assert_in_range(worker_held(stuck), 1, 64);
	for (unsigned int i = 0; i < 2; i++) {
		struct frame f = piece(WAN,
			(struct ipv4)FROM_TO("10.2.0.5", "10.1.0.5", .id = 0x7fff), i * 1000, 1000);
		struct frame esp = sealed(&b, FRAGMENTS + 1 + i, &f);

		gateway_pass(g[i], &esp, 1);
		collect_all(g[i], NULL);
	}
	for (unsigned int i = 0; i < 2; i++) {
		gateway_pass(g[i], NULL, 0);
		collect_all(g[i], NULL);
	}
	expect_complete();
	peer_free(&b);
	gateway_free(g[1]);
	gateway_free(g[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_tunnels_do_not_mix),
		pipeline_test(test_rekey_between_fragments),
		pipeline_test(test_workers),
		pipeline_test(test_ring_full),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
