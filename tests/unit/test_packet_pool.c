// SPDX-License-Identifier: BSD-3-Clause
// packet_pool_new(): without hugepages, buffers follow each other, and each is as large as asked
// for.
#include <errno.h>
#include <stdlib.h>

#include <rte_errno.h>

#include "eal.h"
#include "packet_pool.h"
#include "test.h"

#define BUFFERS 255
#define ROOM    2176
#define LINES   39 // of a buffer, with all of its parts: DPDK makes the number odd
#define PAGE    4096u
#define APART   128 // octets between the places of two buffers that are looked at

static int by_address(const void *a, const void *b)
{
	const struct rte_mbuf *const *m = a, *const *n = b;

	return (*m > *n) - (*m < *n);
}

// They begin at many places of a page, so that they are in many sets of a cache.
static void test_places(void **state)
{
	struct rte_mempool *pool = packet_pool_new("places", BUFFERS, 0, ROOM, SOCKET_ID_ANY);
	struct rte_mbuf *m[BUFFERS];
	bool seen[PAGE / APART] = {false};
	unsigned int places = 0;

	(void)state;
	assert_non_null(pool);
	assert_false(pool->flags & RTE_MEMPOOL_F_NON_IO); // drivers map its memory
	assert_int_equal(rte_pktmbuf_alloc_bulk(pool, m, BUFFERS), 0);
	qsort(m, BUFFERS, sizeof(m[0]), by_address);
	for (unsigned int i = 0; i < BUFFERS; i++) {
		bool *place = &seen[(uintptr_t)m[i] % PAGE / APART];

		assert_int_equal(rte_pktmbuf_tailroom(m[i]), ROOM - RTE_PKTMBUF_HEADROOM);
		assert_int_equal(rte_pktmbuf_priv_size(pool), PACKET_POOL_PRIVATE);
		assert_ptr_equal(m[i]->buf_addr, (uint8_t *)(m[i] + 1) + PACKET_POOL_PRIVATE);
		assert_int_equal(rte_mbuf_iova_get(m[i]), (uintptr_t)m[i]->buf_addr);
		if (i > 0)
			assert_int_equal(
				(uintptr_t)m[i] - (uintptr_t)m[i - 1], LINES * RTE_CACHE_LINE_SIZE);
		places += !*place;
		*place = true;
	}
	assert_true(places > PAGE / APART / 2);
	rte_pktmbuf_free_bulk(m, BUFFERS);
	rte_mempool_free(pool);
}

static void test_no_memory(void **state)
{
	(void)state;
	assert_null(packet_pool_new("large", 1 << 20, 0, ROOM, SOCKET_ID_ANY));
	assert_int_equal(rte_errno, ENOMEM);
	assert_null(packet_pool_new("cached", 16, 1 << 20, ROOM, SOCKET_ID_ANY));
	assert_int_equal(rte_errno, EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, eal_group_start, eal_group_stop);
}
