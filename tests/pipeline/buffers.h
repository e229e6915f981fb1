// SPDX-License-Identifier: BSD-3-Clause
// Pools of packet buffers for tests.
#pragma once

#include <stdint.h>

#include <rte_mempool.h>

// A pool of n buffers, each with its own memory: the address sanitizer detects accesses beyond the
// end of one. room is an odd multiple of 64, so that there is no slack after it. NULL if memory is
// exhausted.
struct rte_mempool *test_pool_new(const char *name, unsigned int n, uint16_t room);

// Frees the memory of all pools, after these have been freed.
void test_pools_free(void);
