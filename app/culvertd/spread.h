// SPDX-License-Identifier: BSD-3-Clause
// Receive side scaling in software, for ports without it: which worker a frame belongs to. Workers.
#pragma once

#include <rte_mbuf.h>

#include "keyed_hash.h"

// The same worker (0 to n_workers - 1) for all packets of a flow, in both directions, and for all
// of an inbound SA; worker 0 for what is not IP, and for messages
// of neighbour discovery, so that they stay in order.
unsigned int spread_worker(
	const struct rte_mbuf *m, unsigned int n_workers, const struct hash_key *key);
