// SPDX-License-Identifier: BSD-3-Clause
// Lanes: every burst is processed once, leaves in order, and its contents have one owner at a time,
// in one thread and, with a sanitizer, in several.
#include <pthread.h>
#include <stdatomic.h>

#include "lane.h"
#include "test.h"

#define WORKERS 4

static void test_order(void **state)
{
	struct lane l;

	(void)state;
	lane_init(&l, 2);
	assert_int_equal(lane_claim(&l), LANE_NONE);
	assert_int_equal(lane_first(&l), LANE_NONE);
	assert_int_equal(lane_open(&l), 0);
	lane_put(&l, true);
	assert_int_equal(lane_open(&l), 1);
	lane_put(&l, true);
	assert_int_equal(lane_open(&l), LANE_NONE); // full
	assert_int_equal(lane_count(&l), 2);
	assert_true(lane_has_unclaimed(&l));
	assert_int_equal(lane_unclaimed(&l), 2);
	assert_int_equal(lane_claim(&l), 0);
	assert_int_equal(lane_unclaimed(&l), 1);
	assert_int_equal(lane_claim(&l), 1);
	assert_int_equal(lane_claim(&l), LANE_NONE);
	assert_false(lane_has_unclaimed(&l));
	lane_done(&l, 1);
	assert_int_equal(lane_first(&l), LANE_NONE); // not before the first one
	lane_done(&l, 0);
	assert_int_equal(lane_first(&l), 0);
	lane_remove(&l);
	assert_int_equal(lane_open(&l), 2);
	assert_int_equal(lane_first(&l), 1);
	lane_remove(&l);
	assert_int_equal(lane_first(&l), LANE_NONE);
	assert_int_equal(lane_count(&l), 0);
}

// Bursts that only the keeper processes are not claimed, neither before nor after they have left.
static void test_keeper_alone(void **state)
{
	struct lane l;

	(void)state;
	lane_init(&l, LANE_BURSTS);
	for (uint32_t i = 0; i < 3 * LANE_BURSTS; i++) {
		uint32_t alone = lane_open(&l), shared;

		lane_put(&l, false);
		shared = lane_open(&l);
		lane_put(&l, true);
		if (i % 2 == 0)
			assert_int_equal(lane_claim(&l), shared);
		assert_int_equal(lane_first(&l), alone);
		lane_remove(&l);
		if (i % 2 != 0)
			assert_int_equal(lane_claim(&l), shared);
		assert_int_equal(lane_first(&l), LANE_NONE);
		lane_done(&l, shared);
		assert_int_equal(lane_first(&l), shared);
		lane_remove(&l);
		assert_int_equal(lane_claim(&l), LANE_NONE);
	}
}

// Content of a burst: not atomic, so that the sanitizer sees two owners.
struct content {
	uint32_t number;
	uint32_t processed;
};

struct worker {
	struct lane lane;
	struct content content[LANE_BURSTS];
	uint32_t put, taken; // of its own lane
	bool wrong;
};

static struct worker worker[WORKERS];
static uint32_t bursts;
static atomic_uint finished; // workers whose lanes are empty for good

static bool alone(uint32_t number)
{
	return number % 13 == 5;
}

static void help(struct worker *of)
{
	uint32_t i = lane_claim(&of->lane);

	if (i == LANE_NONE)
		return;
	of->content[i].processed++;
	lane_done(&of->lane, i);
}

static void keep(struct worker *w)
{
	uint32_t i = lane_open(&w->lane);

	if (w->put < bursts && i != LANE_NONE) {
		w->content[i] = (struct content){.number = w->put};
		lane_put(&w->lane, !alone(w->put++));
	}
	for (i = lane_first(&w->lane); i != LANE_NONE; i = lane_first(&w->lane)) {
		const struct content *c = &w->content[i];

		w->wrong |= c->number != w->taken || c->processed != !alone(w->taken);
		w->taken++;
		lane_remove(&w->lane);
	}
}

static void *run(void *arg)
{
	struct worker *me = arg;
	bool done = false;

	while (atomic_load(&finished) < WORKERS) {
		keep(me);
		for (unsigned int i = 0; i < WORKERS; i++)
			help(&worker[i]);
		if (!done && me->taken == bursts) {
			done = true;
			atomic_fetch_add(&finished, 1);
		}
	}
	return NULL;
}

static void test_threads(void **state)
{
	pthread_t thread[WORKERS];

	(void)state;
	bursts = (uint32_t)rounds(20000);
	for (unsigned int i = 0; i < WORKERS; i++)
		lane_init(&worker[i].lane, 4 + 20 * i);
	for (unsigned int i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, run, &worker[i]), 0);
	for (unsigned int i = 0; i < WORKERS; i++)
		pthread_join(thread[i], NULL);
	for (unsigned int i = 0; i < WORKERS; i++) {
		assert_false(worker[i].wrong);
		assert_int_equal(worker[i].taken, bursts);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_keeper_alone),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
