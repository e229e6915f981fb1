// SPDX-License-Identifier: BSD-3-Clause
// DPDK's interrupt thread unmaps memory when no worker is in a pass that began before.
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <rte_alarm.h>
#include <rte_cycles.h>

#include "eal.h"
#include "driver_calls.h"
#include "test.h"

#define SIZE 4096u

static struct rte_rcu_qsbr *workers; // one, which is this thread
static atomic_bool begun, over;

static void *map(void)
{
	void *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

static bool is_mapped(void *p)
{
	return msync(p, SIZE, MS_ASYNC) == 0;
}

// On the interrupt thread, as the memif driver when its peer has left.
static void unmap(void *p)
{
	begun = true;
	munmap(p, SIZE);
	over = true;
}

static void unmap_on_interrupt_thread(void *p)
{
	begun = false;
	over = false;
	assert_int_equal(rte_eal_alarm_set(1, unmap, p), 0);
	while (!begun)
		rte_delay_us_sleep(100);
}

static void wait_until_over(void)
{
	while (!over)
		rte_delay_us_sleep(100);
}

static void test_waits_for_worker(void **state)
{
	void *p = map();

	(void)state;
	peer_memory_guard(workers);
	unmap_on_interrupt_thread(p);
	for (unsigned int i = 0; i < 20; i++) {
		rte_delay_us_sleep(1000);
		assert_false(over);
		assert_true(is_mapped(p));
	}
	rte_rcu_qsbr_quiescent(workers, 0);
	wait_until_over();
	assert_false(is_mapped(p));
}

static void test_sleeping_worker(void **state)
{
	void *p = map();

	(void)state;
	peer_memory_guard(workers);
	rte_rcu_qsbr_thread_offline(workers, 0);
	unmap_on_interrupt_thread(p);
	wait_until_over();
	rte_rcu_qsbr_thread_online(workers, 0);
	assert_false(is_mapped(p));
}

static void test_other_threads(void **state)
{
	void *p = map();

	(void)state;
	peer_memory_guard(workers);
	assert_int_equal(munmap(p, SIZE), 0);
	assert_false(is_mapped(p));
	assert_int_equal(munmap((char *)p + 1, SIZE), -1);
}

static void test_unguarded(void **state)
{
	void *p = map();

	(void)state;
	peer_memory_guard(NULL);
	unmap_on_interrupt_thread(p);
	wait_until_over();
	assert_false(is_mapped(p));
}

static int start(void **state)
{
	(void)state;
	eal_start();
	workers = aligned_alloc(RTE_CACHE_LINE_SIZE,
		RTE_ALIGN_CEIL(rte_rcu_qsbr_get_memsize(1), RTE_CACHE_LINE_SIZE));
	if (workers == NULL || rte_rcu_qsbr_init(workers, 1) != 0)
		return -1;
	rte_rcu_qsbr_thread_register(workers, 0);
	rte_rcu_qsbr_thread_online(workers, 0);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	peer_memory_guard(NULL);
	free(workers);
	eal_stop();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits_for_worker),
		cmocka_unit_test(test_sleeping_worker),
		cmocka_unit_test(test_other_threads),
		cmocka_unit_test(test_unguarded),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
