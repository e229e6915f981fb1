// SPDX-License-Identifier: BSD-3-Clause
#include "packet_pool.h"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf_pool_ops.h>

struct rte_mempool *packet_pool_new(
	const char *name, unsigned int n, unsigned int cache, uint16_t room, int node)
{
	struct rte_pktmbuf_pool_private private = {.mbuf_data_room_size = room};
	// No device reads memory that is not in hugepages by physical addresses.
	const unsigned int flags = rte_eal_has_hugepages() ? 0 : RTE_MEMPOOL_F_NO_IOVA_CONTIG;
	struct rte_mempool *pool = rte_mempool_create_empty(name, n,
		(unsigned int)sizeof(struct rte_mbuf) + room, cache, sizeof(private), node, flags);
	int rc;

	if (pool == NULL)
		return NULL;
	rc = rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), NULL);
	if (rc == 0) {
		rte_pktmbuf_pool_init(pool, &private);
		rc = rte_mempool_populate_default(pool);
	}
	if (rc < 0) {
		rte_mempool_free(pool);
		rte_errno = -rc;
		return NULL;
	}
	rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
	return pool;
}
