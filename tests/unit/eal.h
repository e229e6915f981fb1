// SPDX-License-Identifier: BSD-3-Clause
// DPDK's environment for a test program: no hugepages, no devices, no files left, any number of
// programs at the same time.
#pragma once

// Called once, before anything of DPDK. Ends the program on failure.
void eal_start(void);

// At the end.
void eal_stop(void);

// The same as fixtures of a group of tests.
int eal_group_start(void **state);
int eal_group_stop(void **state);

// The same with a pool of 63 buffers; the end fails if one of them has not been freed.
extern struct rte_mempool *eal_pool;
int eal_pool_start(void **state);
int eal_pool_stop(void **state);

// The same with readers 0 and 1 of shared memory (QSBR).
extern struct rte_rcu_qsbr *eal_qsbr;
int eal_qsbr_start(void **state);
int eal_qsbr_stop(void **state);
