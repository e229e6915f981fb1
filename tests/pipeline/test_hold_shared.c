// SPDX-License-Identifier: BSD-3-Clause
// Several workers hold packets for a group that is about to become active here (test_hold.c): flows
// stay in order, and none is lost, whatever worker receives, opens or forwards them.
#include "expected_group.h"
#include "fan_site.h"
#include "fanout.h"
#include "hold.h"

#define BURSTS 30 // before, during and after the change

static void steps(struct workers *s, unsigned int max)
{
	for (unsigned int n = random_below(&s->seed, max); n > 0; n--)
		step(s);
}

// One part of the change of the role, of which packets may see each alone.
static void change(struct gateway *g, unsigned int part)
{
	switch (part) {
	case 0:
		dad_roles_begin(harness_dad);
		break;
	case 1:
		group_address_set(WAN, GROUP_ADDRESS, DAD_ASSIGNED);
		break;
	case 2:
		group_sas_set(g, "to-b", "from-b", false);
		break;
	case 3:
		g->snapshot->flow_generation =
			snapshot_generation_next(g->snapshot->flow_generation);
		dad_roles_end(harness_dad);
	}
}

static unsigned int receive(struct workers *s, bool out)
{
	struct frame f[RX_BURST_MAX];
	unsigned int n;

	if (!fanout_has_room(s->w[0]))
		return 0;
	n = burst(s, f, out);
	gateway_receive(s->g[0], f, n);
	check_sent(s, s->g[0]);
	return n;
}

static void run(bool out)
{
	for (uint64_t seed = 1; seed <= rounds(10); seed++) {
		struct workers s = workers_new(SITE(.window = 32), seed);
		unsigned int n = 0, held = 0;

		gateways_share(s.g, s.w, WORKERS);
		group_set(s.g[0], DAD_EXPECTED);
		for (unsigned int i = 0; i < BURSTS; i++) {
			n += receive(&s, out);
			steps(&s, 20);
			if (i < BURSTS / 3)
				assert_int_equal(s.n_sent, 0);
			if (i == BURSTS / 3) {
				settle(&s);
				for (unsigned int w = 0; w < WORKERS; w++)
					held += s.w[w]->hold.n;
				assert_int_equal(held, n);
			}
			if (i >= BURSTS / 2)
				change(s.g[0], i - BURSTS / 2);
			steps(&s, 20);
		}
		for (unsigned int w = 0; w < WORKERS; w++)
			gateway_pass(s.g[w], NULL, 0), check_sent(&s, s.g[w]);
		settle(&s);
		assert_int_equal(s.n_sent, n);
		assert_int_equal(dropped_all(&s), 0);
		workers_free(&s);
	}
}

static void test_out(void **state)
{
	(void)state;
	run(true);
}

static void test_in(void **state)
{
	(void)state;
	run(false);
}

// Workers with queues of their own.
static void test_own_queues(void **state)
{
	struct workers s = workers_new(SITE(), 1);
	struct frame f[RX_BURST_MAX];
	unsigned int n = 0, sent = 0;

	(void)state;
	for (unsigned int w = 0; w < WORKERS; w++)
		s.w[w] = s.g[w]->w;
	for (unsigned int w = 0; w < WORKERS; w++)
		worker_peers_set(s.w[w], s.w, WORKERS);
	group_set(s.g[0], DAD_EXPECTED);
	for (unsigned int i = 0; i < BURSTS; i++) {
		struct gateway *g = s.g[i % WORKERS];
		unsigned int in = burst(&s, f, i % 2 == 0);

		gateway_pass(g, f, in);
		assert_int_equal(g->n_sent, 0);
		n += in;
	}
	group_set(s.g[0], DAD_ASSIGNED);
	for (unsigned int w = 0; w < WORKERS; w++) {
		gateway_pass(s.g[w], NULL, 0);
		sent += s.g[w]->n_sent;
		assert_int_equal(worker_held(s.w[w]), 0);
	}
	assert_int_equal(sent + dropped(&s, DROP_REPLAY), n); // the window is 64 packets long
	workers_free(&s);
}

// The group has its address, and its SAs may not be used yet: the ESP packets are held, also if
// they are the first ones.
static void test_first_in_a_change(void **state)
{
	struct workers s = workers_new(SITE(), 1);
	unsigned int n = 0;

	(void)state;
	gateways_share(s.g, s.w, WORKERS);
	group_set(s.g[0], DAD_EXPECTED);
	for (unsigned int part = 0; part < 4; part++) {
		change(s.g[0], part);
		if (part == 1)
			n += receive(&s, false);
		settle(&s);
	}
	gateway_pass(s.g[0], NULL, 0);
	check_sent(&s, s.g[0]);
	settle(&s);
	assert_int_equal(dropped_all(&s), 0);
	assert_int_equal(s.n_sent, n);
	workers_free(&s);
}

// All workers release as many packets as they may hold, to the one that numbers them.
static void test_release_to_one(void **state)
{
	struct workers s;
	struct frame f[RX_BURST_MAX];
	unsigned int n = 0;

	(void)state;
	harness_hold_max = hold_max_of(65536, WORKERS);
	s = workers_new(SITE(), 1);
	gateways_share(s.g, s.w, WORKERS);
	group_set(s.g[0], DAD_EXPECTED);
	for (unsigned int w = 0; w < WORKERS; w++)
		for (unsigned int i = 0; i < harness_hold_max; i += RX_BURST_MAX) {
			for (unsigned int k = 0; k < RX_BURST_MAX; k++)
				f[k] = frame_ip(LAN, packet_of(&s, w, true));
			gateway_pass(s.g[w], f, RX_BURST_MAX);
			n += RX_BURST_MAX;
		}
	assert_int_equal(dropped_all(&s), 0);
	group_set(s.g[0], DAD_ASSIGNED);
	for (unsigned int w = 0; w < WORKERS; w++)
		gateway_pass(s.g[w], NULL, 0);
	settle(&s);
	assert_int_equal(dropped_all(&s), 0);
	assert_int_equal(s.n_sent, n);
	workers_free(&s);
	harness_hold_max = HARNESS_HOLD_MAX;
}

// Released packets wait for their next hop at the worker of their flow.
static void test_unresolved(void **state)
{
	struct workers s = workers_new(SITE(), 1);
	struct frame f[8];
	unsigned int held = 0;

	(void)state;
	gateways_share(s.g, s.w, WORKERS);
	group_set(s.g[0], DAD_EXPECTED);
	for (unsigned int i = 0; i < HARNESS_HOLD_MAX / 8; i++) {
		for (unsigned int k = 0; k < 8; k++) {
			struct ipv4 ip = packet_of(&s, i % FLOWS, false);

			ip.dst = "10.1.0.77";
			f[k] = peer_seal_ip(&s.b, ++s.seq, ip);
		}
		gateway_pass(s.g[0], f, 8);
	}
	group_set(s.g[0], DAD_ASSIGNED);
	gateway_pass(s.g[0], NULL, 0);
	settle(&s);
	for (unsigned int w = 0; w < WORKERS; w++)
		held += s.w[w]->n_held;
	assert_int_equal(held, HARNESS_HOLD_MAX);
	assert_int_equal(dropped_all(&s), 0);
	workers_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		group_test(test_out),
		group_test(test_in),
		group_test(test_own_queues),
		group_test(test_first_in_a_change),
		group_test(test_release_to_one),
		group_test(test_unresolved),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
