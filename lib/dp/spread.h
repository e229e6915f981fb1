// SPDX-License-Identifier: BSD-3-Clause
// Which worker a packet belongs to: the same one (0 to n_workers - 1) for all packets of a flow, in
// both directions, and for all fragments between two hosts; worker 0 for other protocols than IP,
// and for messages of neighbour discovery, so that they stay in order. Workers.
#pragma once

#include <rte_mbuf.h>

#include "keyed_hash.h"

// The worker of a packet with this hash, by its upper half.
static inline unsigned int spread_hash(uint64_t hash, unsigned int n_workers)
{
	return (unsigned int)((hash >> 32) * n_workers >> 32);
}

// The worker of a received frame. All ESP packets of an SA belong to one worker.
unsigned int spread_frame(
	const struct rte_mbuf *m, unsigned int n_workers, const struct hash_key *key);

// The worker of a packet out of a tunnel: m starts with its header, which was checked.
unsigned int spread_inner(
	const struct rte_mbuf *m, unsigned int n_workers, const struct hash_key *key);

// The worker of the SA with this SPI.
unsigned int spread_sa(rte_be32_t spi, unsigned int n_workers, const struct hash_key *key);
