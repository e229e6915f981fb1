// SPDX-License-Identifier: BSD-3-Clause
// The state of a tunnel, by the times of packets sent and received, and by drops of its SAs.
#include "tunnel_life.h"
#include "test.h"

#define TICK_MS  100
#define PATIENCE TUNNEL_PATIENCE_MS

// Traffic: at most one packet a tick in each direction.
struct traffic {
	uint32_t send_ms, answer_ms; // between packets; 0: none
};

static uint64_t now_ms;

static enum tunnel_state run(struct tunnel_life *l, struct traffic t, uint64_t for_ms)
{
	uint64_t received_ms = l->received_ms;

	for (uint64_t end = now_ms + for_ms; now_ms < end; now_ms += TICK_MS) {
		bool sent = t.send_ms != 0 && now_ms % t.send_ms == 0;

		if (t.answer_ms != 0 && now_ms % t.answer_ms == 0)
			received_ms = now_ms;
		tunnel_life_note(l, sent, received_ms, PATIENCE, now_ms);
	}
	return l->state;
}

static int begin(void **state)
{
	(void)state;
	now_ms = 1000000;
	return 0;
}

static void test_never_until_a_packet_is_received(void **state)
{
	struct tunnel_life l = {0};

	(void)state;
	assert_int_equal(run(&l, (struct traffic){100, 0}, 3600000), TUNNEL_NEVER);
	assert_int_equal(run(&l, (struct traffic){0, 0}, 60000), TUNNEL_NEVER);
	assert_int_equal(run(&l, (struct traffic){0, 1000}, 1000), TUNNEL_UP);
}

static void test_silent_and_back(void **state)
{
	struct tunnel_life l = {0};
	uint64_t stopped_ms;

	(void)state;
	assert_int_equal(run(&l, (struct traffic){200, 200}, 60000), TUNNEL_UP);
	stopped_ms = now_ms;
	assert_int_equal(run(&l, (struct traffic){200, 0}, PATIENCE), TUNNEL_UP);
	assert_int_equal(run(&l, (struct traffic){200, 0}, 400), TUNNEL_SILENT);
	assert_in_range(l.unanswered_ms, stopped_ms, stopped_ms + 200);
	// A packet of the peer ends it, not a pause in sending.
	assert_int_equal(run(&l, (struct traffic){0, 0}, 3600000), TUNNEL_SILENT);
	assert_int_equal(run(&l, (struct traffic){1000, 0}, 2000), TUNNEL_SILENT);
	assert_in_range(l.unanswered_ms, stopped_ms, stopped_ms + 200);
	assert_int_equal(run(&l, (struct traffic){0, 100}, 100), TUNNEL_UP);
	assert_int_equal(l.unanswered_ms, 0);
}

static void test_idle_is_up(void **state)
{
	struct tunnel_life l = {0};

	(void)state;
	run(&l, (struct traffic){100, 100}, 1000);
	assert_int_equal(run(&l, (struct traffic){0, 0}, 3600000), TUNNEL_UP);
	// An occasional packet that requires no reply does not make a tunnel silent, however long
	// that lasts.
	assert_int_equal(run(&l, (struct traffic){2 * PATIENCE, 0}, 3600000), TUNNEL_UP);
	// Nor does one of them count when an ordinary request follows.
	assert_int_equal(run(&l, (struct traffic){100, 0}, PATIENCE / 2), TUNNEL_UP);
}

// An attempt to open a TCP connection: 1, 2, 4, 8 seconds between its segments.
static void test_few_packets_are_enough(void **state)
{
	struct tunnel_life l = {0};

	(void)state;
	run(&l, (struct traffic){100, 100}, 1000);
	now_ms += 100000;
	for (unsigned int wait = 1000; wait <= 8000; wait *= 2) {
		tunnel_life_note(&l, true, l.received_ms, PATIENCE, now_ms);
		assert_int_equal(l.state, TUNNEL_UP);
		now_ms += wait;
	}
	tunnel_life_note(&l, true, l.received_ms, PATIENCE, now_ms);
	assert_int_equal(l.state, TUNNEL_SILENT);
}

static void test_slow_answers_are_answers(void **state)
{
	struct tunnel_life l = {0};

	(void)state;
	assert_int_equal(run(&l, (struct traffic){100, 9000}, 600000), TUNNEL_UP);
}

static struct tunnel_counts counts;

// Each second, one direction passes and drops that many packets.
static bool run_drops(struct tunnel_drops *d, uint64_t passed, enum drop_of_sa reason,
	uint64_t dropped, unsigned int seconds)
{
	for (; seconds > 0; seconds--, now_ms += 1000) {
		counts.passed += passed;
		counts.drops[reason] += dropped;
		tunnel_drops_note(d, &counts, PATIENCE, now_ms);
	}
	return tunnel_drops_all(d, PATIENCE);
}

static void test_failing_while_everything_is_dropped(void **state)
{
	struct tunnel_drops d = {0};

	(void)state;
	assert_false(run_drops(&d, 5, DROP_OF_SA_AUTH, 0, 60));
	assert_false(run_drops(&d, 0, DROP_OF_SA_AUTH, 3, 10));
	assert_true(run_drops(&d, 0, DROP_OF_SA_AUTH, 3, 1));
	assert_int_equal(d.reason, DROP_AUTH);
	// The next packet that passes ends it, not a pause.
	assert_true(run_drops(&d, 0, DROP_OF_SA_AUTH, 0, 3600));
	assert_true(run_drops(&d, 0, DROP_OF_SA_REPLAY, 2, 1));
	assert_int_equal(d.reason, DROP_REPLAY);
	assert_false(run_drops(&d, 1, DROP_OF_SA_REPLAY, 2, 1));
}

static void test_some_drops_are_no_failure(void **state)
{
	struct tunnel_drops d = {0};

	(void)state;
	assert_false(run_drops(&d, 1, DROP_OF_SA_REPLAY, 1000, 3600));
	// Now and then one, in a tunnel without traffic.
	for (unsigned int i = 0; i < 100; i++) {
		assert_false(run_drops(&d, 0, DROP_OF_SA_AUTH, 1, 1));
		assert_false(run_drops(&d, 0, DROP_OF_SA_AUTH, 0, 10));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_never_until_a_packet_is_received, begin),
		cmocka_unit_test_setup(test_silent_and_back, begin),
		cmocka_unit_test_setup(test_idle_is_up, begin),
		cmocka_unit_test_setup(test_few_packets_are_enough, begin),
		cmocka_unit_test_setup(test_slow_answers_are_answers, begin),
		cmocka_unit_test_setup(test_failing_while_everything_is_dropped, begin),
		cmocka_unit_test_setup(test_some_drops_are_no_failure, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
