// SPDX-License-Identifier: BSD-3-Clause
// The two ports of a gateway on DPDK as queues of paced.h. They are opened with any driver; each
// worker replaces its functions when it begins.
#pragma once

#include <stdint.h>

struct rte_mempool;

// Worker i, on its thread, before it reads or sends for the first time. It sends by this queue of
// both ports, and takes buffers for received frames from the pool.
void paced_port_take(
	unsigned int i, uint16_t tx_queue, struct rte_mempool *pool, const uint16_t ports[2]);
