// SPDX-License-Identifier: BSD-3-Clause
// Loops past the deadline of their workers: they receive and send nothing, drop packets that they
// hold when they are ordered to, and continue afterwards.
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "fanout.h"
#include "loop_pair.h"

#define LIMIT_MS 60000
#define GIVEN    5  // frames to be sent by worker 0
#define WAITING  10 // at the device
#define OTHERS   3  // frames of other workers
#define HELD     1  // for its next hop

static struct deadline_clock clock_now(void)
{
	const uint64_t per_ms = rte_get_tsc_hz() / 1000;

	return (struct deadline_clock){rte_rdtsc() / per_ms, per_ms, 1};
}

static unsigned int n_begun, n_asked;

static void begin(void *arg, uint64_t ms)
{
	(void)arg;
	assert_in_range(ms, LIMIT_MS, UINT64_MAX);
	n_begun++;
}

static uint64_t sum(const struct pair *p, size_t counter)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < 2; i++)
		n += *(const uint64_t *)((const uint8_t *)&p->w[i]->counters + counter);
	return n;
}

#define SUM(p, counter) sum(p, offsetof(struct counters, counter))

// When it is asked, workers have dropped everything. It is not so at first.
static bool in_effect(void *arg)
{
	const struct pair *p = arg;

	assert_int_equal(loop_held(p->loop[0]) + loop_held(p->loop[1]), 0);
	assert_int_equal(SUM(p, drops[DROP_SHUTDOWN]), GIVEN + OTHERS + OTHERS + HELD);
	assert_int_equal(SUM(p, tx), 0);
	return ++n_asked > 3;
}

static void round_of(struct deadlines *all, struct pair *p)
{
	static const struct deadline_freeze freeze = {begin, in_effect};
	const struct deadline_clock now = clock_now();

	deadlines_round(all, &now, LIMIT_MS, &freeze, p);
}

// The first n loops have gone round some times.
static void await_beats(struct pair *p, unsigned int n)
{
	time_t end = time(NULL) + LOOP_PAIR_DEADLINE_S;
	uint64_t from[2];

	for (unsigned int i = 0; i < n; i++)
		from[i] = atomic_load(&p->loop[i]->heartbeat);
	for (unsigned int i = 0; i < n; i++)
		while (atomic_load(&p->loop[i]->heartbeat) - from[i] < 20 * (LOOP_PLACE_MASK + 1)) {
			if (time(NULL) > end)
				fail_msg("worker %u has stopped", i);
			usleep(1000);
		}
}

static void await_held(struct pair *p)
{
	time_t end = time(NULL) + LOOP_PAIR_DEADLINE_S;

	while (loop_held(p->loop[0]) + loop_held(p->loop[1]) != HELD) {
		if (time(NULL) > end)
			fail_msg("no packet is held");
		usleep(1000);
	}
}

static struct rte_mbuf *frame_to(const char *dst)
{
	struct frame f = frame_ip(LAN, (struct ipv4)FROM_TO("10.1.0.5", dst));

	return frame_mbuf(&f);
}

// Frames of other workers: received, and to be sealed.
static void others_give(struct worker *w)
{
	for (unsigned int i = 0; i < OTHERS; i++) {
		assert_int_equal(rte_ring_enqueue(w->frames, frame_of_flow(i)), 0);
		assert_int_equal(rte_ring_enqueue(w->departing, frame_of_flow(i)), 0);
		w->n_handed++;
	}
	atomic_store(&w->fanout->is_behind, true); // as if there were many
}

static void test_late(void **state)
{
	struct deadlines all = {.n = 2};
	struct pair p;

	(void)state;
	n_begun = n_asked = 0;
	pair_start(&p);
	for (unsigned int i = 0; i < 2; i++) {
		p.w[i]->tsc_hz = rte_get_tsc_hz(); // a packet is held for seconds
		all.of[i] = &p.w[i]->deadline;
	}
	round_of(&all, &p);
	for (unsigned int i = 0; i < 2; i++)
		loop_start(&p, i);
	send_to(loop_device, frame_to("10.7.0.77")); // nobody answers
	await_held(&p);
	for (unsigned int i = 0; i < 2; i++)
		atomic_store(&p.w[i]->deadline.until, 1);
	await_beats(&p, 2);
	others_give(p.w[1]);
	for (unsigned int i = 0; i < GIVEN; i++)
		assert_true(loop_send(p.loop[0], LAN, frame_of_flow(i)));
	for (uint32_t i = 0; i < WAITING; i++)
		send_to(loop_device, frame_of_flow(i));
	await_beats(&p, 2);
	assert_int_equal(rte_ring_count(p.loop[0]->out), GIVEN);
	assert_int_equal(SUM(&p, rx), HELD);
	assert_int_equal(SUM(&p, tx), 0);

	all.ran_ms = 1; // the control thread was frozen as well
	do
		round_of(&all, &p);
	while (all.held);
	assert_int_equal(n_begun, 1);
	assert_int_equal(n_asked, 4);
	await_buffers_in_use(0);
	assert_true(loop_send(p.loop[0], LAN, frame_of_flow(0))); // comes back
	for (time_t end = time(NULL) + LOOP_PAIR_DEADLINE_S; SUM(&p, tx) != 1;)
		assert_in_range(time(NULL), 0, end);
	await_buffers_in_use(0);
	for (unsigned int i = 0; i < 2; i++)
		loop_end(&p, i);
	assert_int_equal(SUM(&p, rx), HELD + OTHERS + WAITING + 1);
	// One that runs first may give frames to the other just before that does.
	assert_int_equal(SUM(&p, drops[DROP_NO_POLICY]) + SUM(&p, drops[DROP_SHUTDOWN]),
		GIVEN + OTHERS + OTHERS + HELD + WAITING + 1);
	assert_in_range(SUM(&p, drops[DROP_NO_POLICY]), 1, WAITING + 1);
	p.w[0]->counters.originated += GIVEN + 1; // by the test
	p.w[1]->counters.originated += OTHERS;
	pair_stop(&p);
}

// A worker that has frames of others to send, and no pass before.
static void test_given(void **state)
{
	struct pair p;

	(void)state;
	pair_start(&p);
	atomic_store(&p.w[0]->deadline.until, 1);
	for (unsigned int i = 0; i < GIVEN; i++)
		assert_true(loop_send(p.loop[0], LAN, frame_of_flow(i)));
	loop_start(&p, 0);
	await_beats(&p, 1);
	assert_int_equal(SUM(&p, tx), 0);
	assert_int_equal(rte_ring_count(p.loop[0]->out), GIVEN);
	atomic_store(&p.w[0]->deadline.until, UINT64_MAX);
	loop_start(&p, 1);
	await_buffers_in_use(0); // they come back, for both workers
	for (unsigned int i = 0; i < 2; i++)
		loop_end(&p, i);
	assert_int_equal(SUM(&p, tx), GIVEN);
	p.w[0]->counters.originated += GIVEN; // by the test
	pair_stop(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		pipeline_test(test_late),
		pipeline_test(test_given),
	};

	return cmocka_run_group_tests(tests, loop_pair_begin, loop_pair_end);
}
