// SPDX-License-Identifier: BSD-3-Clause
// ipsec-secgw with paced ports (../paced.h), if tests/bench/latency starts it: linked in with
// --wrap=ipsec_launch_one_lcore. Its cards are two of net_frames.c.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_lcore.h>
#include <rte_mempool.h>

#include "die.h"
#include "paced.h"
#include "paced_port.h"

#define POOL "mbuf_pool_0_0" // of the first NUMA node

__attribute__((constructor)) static void memory_open(void)
{
	if (getenv("CULVERT_LATENCY") != NULL)
		paced_open();
}

int __real_ipsec_launch_one_lcore(void *args);
int __wrap_ipsec_launch_one_lcore(void *args);

// Its first lcore only waits for the others, which it does without sleeping: here it sleeps. Each
// lcore has a queue of each card to send.
int __wrap_ipsec_launch_one_lcore(void *args)
{
	const int lcore = rte_lcore_index(-1);
	struct rte_mempool *pool = rte_mempool_lookup(POOL);

	if (getenv("CULVERT_LATENCY") == NULL)
		return __real_ipsec_launch_one_lcore(args);
	if (pool == NULL)
		die("ipsec-secgw has no " POOL);
	if (lcore == 0) {
		printf("ready %d\n", (int)getpid());
		fflush(stdout);
		for (;;)
			pause();
	}
	paced_port_take((unsigned int)lcore - 1, (uint16_t)lcore, pool, (uint16_t[]){0, 1});
	return __real_ipsec_launch_one_lcore(args);
}
