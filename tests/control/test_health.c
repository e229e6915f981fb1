// SPDX-License-Identifier: BSD-3-Clause
// Workers that stall and resume, the watchdog of the service manager, and packet buffers that run
// short.
#include "desk.h"
#include "health.h"

// This many checks, one every 100 ms; the worker makes passes or none.
static void checks(unsigned int n, bool passes)
{
	for (unsigned int i = 0; i < n; i++) {
		desk_heartbeat += passes;
		desk_now += 100;
		health_tick(&desk, desk_now);
	}
}

static void test_stall(void **state)
{
	const struct health_worker *w = &desk.health.worker[0];

	(void)state;
	health_start(&desk, 0);
	checks(5, true);
	checks(9, false);
	desk_expect_no_event();
	assert_false(w->stalled);
	checks(1, false);
	desk_expect_event("event=worker_stalled\tseverity=error\tworker=0\tms=1000\tplace=idle\t"
			  "thread=7\tstate=S\tcpu=3");
	checks(15, false);
	assert_true(w->stalled);
	checks(1, true);
	desk_expect_event("event=worker_resumed\tseverity=warning\tworker=0\tms=2500");
	desk_expect_no_event();
	assert_false(w->stalled);
	assert_int_equal(w->stalls, 1);
}

// It is fed every 500 ms, and not while a worker makes no progress.
static void test_watchdog_starves_when_stalled(void **state)
{
	(void)state;
	health_start(&desk, 0);
	desk_watchdog = 0;
	checks(20, true);
	assert_int_equal(desk_watchdog, 0);
	health_start(&desk, 500);
	checks(1, true);
	assert_int_equal(desk_watchdog, 1);
	checks(10, true);
	assert_int_equal(desk_watchdog, 3);
	checks(50, false);
	assert_int_equal(desk_watchdog, 3);
	checks(1, true);
	assert_int_equal(desk_watchdog, 4);
}

// A warning below a sixteenth, and another one only after an eighth was free.
static void test_few_buffers_warn_once(void **state)
{
	const unsigned int size = harness_pool->size;
	struct rte_mbuf **m = calloc(size, sizeof(*m));
	char event[128];

	(void)state;
	health_start(&desk, 0);
	checks(1, true);
	desk_expect_no_event();
	assert_int_equal(rte_pktmbuf_alloc_bulk(harness_pool, m, size - size / 16 + 1), 0);
	snprintf(event, sizeof(event), "event=buffers_short\tseverity=warning\tfree=%u\tsize=%u",
		size / 16 - 1, size);
	checks(3, true);
	desk_expect_event(event);
	desk_expect_no_event();
	assert_int_equal(desk.health.buffers_free_min, size / 16 - 1);
	rte_pktmbuf_free_bulk(m, 10); // not enough to warn again
	checks(1, true);
	assert_int_equal(rte_pktmbuf_alloc_bulk(harness_pool, m, 10), 0);
	checks(1, true);
	desk_expect_no_event();
	rte_pktmbuf_free_bulk(m, size / 8);
	checks(1, true);
	assert_int_equal(rte_pktmbuf_alloc_bulk(harness_pool, m, size / 8), 0);
	checks(1, true);
	desk_expect_event(event);
	rte_pktmbuf_free_bulk(m, size - size / 16 + 1);
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		desk_test(test_stall),
		desk_test(test_watchdog_starves_when_stalled),
		desk_test(test_few_buffers_warn_once),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
