// SPDX-License-Identifier: BSD-3-Clause
#include "packet_pool.h"

#include <errno.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_memzone.h>

static void memory_free(struct rte_mempool_memhdr *memory, void *zone)
{
	(void)memory;
	rte_memzone_free(zone);
}

// One piece of memory for all buffers. Devices address it as this process does (IOVA as VA): so it
// is in one piece for them, too. Returns a negative error.
static int populate(struct rte_mempool *pool)
{
	const size_t size = pool->header_size + pool->elt_size + pool->trailer_size;
	const struct rte_memzone *zone;
	int rc;

	zone = rte_memzone_reserve(
		pool->name, pool->size * size + RTE_MEMPOOL_ALIGN, pool->socket_id, 0);
	if (zone == NULL)
		return -rte_errno;
	rc = rte_mempool_populate_iova(
		pool, zone->addr, zone->iova, zone->len, memory_free, (void *)(uintptr_t)zone);
	if (rc <= 0) {
		rte_memzone_free(zone);
		return rc < 0 ? rc : -ENOMEM;
	}
	// Drivers would not map the memory for their devices, but it is in one piece.
	pool->flags &= ~(unsigned int)(RTE_MEMPOOL_F_NO_IOVA_CONTIG | RTE_MEMPOOL_F_NON_IO);
	return 0;
}

static struct rte_mempool *pool_without_hugepages(
	const char *name, unsigned int n, unsigned int cache, uint16_t room, int node)
{
	struct rte_pktmbuf_pool_private private = {
		.mbuf_data_room_size = room, .mbuf_priv_size = PACKET_POOL_PRIVATE};
	const unsigned int size =
		(unsigned int)sizeof(struct rte_mbuf) + PACKET_POOL_PRIVATE + room;
	// The flag lets a buffer cross the end of a page; populate() clears it.
	struct rte_mempool *pool = rte_mempool_create_empty(
		name, n, size, cache, sizeof(private), node, RTE_MEMPOOL_F_NO_IOVA_CONTIG);
	int rc;

	if (pool == NULL)
		return NULL;
	rc = rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), NULL);
	if (rc == 0) {
		rte_pktmbuf_pool_init(pool, &private);
		rc = populate(pool);
	}
	if (rc < 0) {
		rte_mempool_free(pool);
		rte_errno = -rc;
		return NULL;
	}
	rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
	return pool;
}

struct rte_mempool *packet_pool_new(
	const char *name, unsigned int n, unsigned int cache, uint16_t room, int node)
{
	return rte_eal_has_hugepages()
		       ? rte_pktmbuf_pool_create(name, n, cache, PACKET_POOL_PRIVATE, room, node)
		       : pool_without_hugepages(name, n, cache, room, node);
}
