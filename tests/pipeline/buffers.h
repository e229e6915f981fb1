// SPDX-License-Identifier: BSD-3-Clause
// Pools of packet buffers for tests.
#pragma once

#include <stdint.h>

#include <rte_mempool.h>

// A pool of n buffers that are pieces of memory of their own: the address sanitizer sees what goes
// over the end of one. room is an odd multiple of 64, so that there is no slack behind it. NULL
// without memory.
struct rte_mempool *test_pool_new(const char *name, unsigned int n, uint16_t room);

// The memory of all pools, when these have been freed.
void test_pools_free(void);
