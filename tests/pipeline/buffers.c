// SPDX-License-Identifier: BSD-3-Clause
#include "buffers.h"

#include <stdlib.h>

#include <rte_mbuf.h>

#include "packet_pool.h"

#define OBJECTS_MAX 8192

// The memory of the pools' buffers, referenced from here: the leak sanitizer does not search DPDK's
// own references.
static void *object[OBJECTS_MAX];
static unsigned int n_objects;

struct rte_mempool *test_pool_new(const char *name, unsigned int n, uint16_t room)
{
	struct rte_pktmbuf_pool_private private = {
		.mbuf_data_room_size = room, .mbuf_priv_size = PACKET_POOL_PRIVATE};
	struct rte_mempool *pool = rte_mempool_create_empty(name, n,
		(unsigned int)sizeof(struct rte_mbuf) + PACKET_POOL_PRIVATE + room, 0,
		sizeof(private), SOCKET_ID_ANY,
		RTE_MEMPOOL_F_NO_SPREAD | RTE_MEMPOOL_F_NO_IOVA_CONTIG);

	if (pool == NULL)
		return NULL;
	rte_pktmbuf_pool_init(pool, &private);
	for (unsigned int i = 0; i < n; i++) {
		size_t size = pool->header_size + pool->elt_size + pool->trailer_size;
		void *o = aligned_alloc(RTE_CACHE_LINE_SIZE, size);

		if (o == NULL || n_objects == OBJECTS_MAX ||
			rte_mempool_populate_iova(pool, o, (uintptr_t)o, size, NULL, NULL) != 1)
			abort();
		object[n_objects++] = o;
	}
	rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
	return pool;
}

void test_pools_free(void)
{
	while (n_objects > 0)
		free(object[--n_objects]);
}
