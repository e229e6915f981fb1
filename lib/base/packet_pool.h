// SPDX-License-Identifier: BSD-3-Clause
// Pools of packet buffers. Any thread that may allocate.
#pragma once

#include <rte_mbuf.h>

// Octets of each buffer for the worker that owns it, between its mbuf and its room: a whole cache
// line, so that packets are where they would be without it. A worker that does not use it does not
// touch it.
#define PACKET_POOL_PRIVATE 64

// Makes a pool of n buffers of room octets, and PACKET_POOL_PRIVATE, in the memory of a NUMA node.
// A thread keeps up to cache of them. Without hugepages, rte_pktmbuf_pool_create() has a page for
// each buffer: the parts that are used of all of them are then in the same few sets of the nearest
// cache, which holds fewer than a burst has. Here they follow each other, as in hugepages. The
// caller frees it with rte_mempool_free(). NULL with rte_errno.
struct rte_mempool *packet_pool_new(
	const char *name, unsigned int n, unsigned int cache, uint16_t room, int node);
