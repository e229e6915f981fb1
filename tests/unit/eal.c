// SPDX-License-Identifier: BSD-3-Clause
#include "eal.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_mbuf.h>
#include <rte_rcu_qsbr.h>

#include "packet_pool.h"

struct rte_mempool *eal_pool;
struct rte_rcu_qsbr *eal_qsbr;

static int first_cpu(const cpu_set_t *cpus)
{
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, cpus))
			return cpu;
	return 0;
}

void eal_start(void)
{
	char prefix[64], lcores[32];
	char *args[] = {"test", "--no-huge", "-m", "64", "--no-pci", "--no-telemetry",
		"--no-shconf", "--iova-mode=va", "--log-level=*:error", prefix, lcores};
	cpu_set_t cpus;

	sched_getaffinity(0, sizeof(cpus), &cpus);
	snprintf(prefix, sizeof(prefix), "--file-prefix=culvert-test-%d", getpid());
	snprintf(lcores, sizeof(lcores), "--lcores=0@%d", first_cpu(&cpus));
	if (rte_eal_init(RTE_DIM(args), args) < 0) {
		fprintf(stderr, "DPDK did not start\n");
		exit(1);
	}
	// Programs that run in parallel need not share one CPU.
	sched_setaffinity(0, sizeof(cpus), &cpus);
	// Nothing is kept in the folder; removed now, a test that crashes cannot leave it.
	rmdir(rte_eal_get_runtime_dir());
}

void eal_stop(void)
{
	rte_eal_cleanup();
}

int eal_group_start(void **state)
{
	(void)state;
	eal_start();
	return 0;
}

int eal_group_stop(void **state)
{
	(void)state;
	eal_stop();
	return 0;
}

int eal_pool_start(void **state)
{
	(void)state;
	eal_start();
	eal_pool = packet_pool_new("packets", 63, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	return eal_pool != NULL ? 0 : -1;
}

int eal_pool_stop(void **state)
{
	unsigned int lost = rte_mempool_in_use_count(eal_pool);

	(void)state;
	rte_mempool_free(eal_pool);
	eal_stop();
	return lost == 0 ? 0 : -1;
}

int eal_qsbr_start(void **state)
{
	size_t size = rte_rcu_qsbr_get_memsize(2);

	(void)state;
	eal_start();
	eal_qsbr = aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_ALIGN_CEIL(size, RTE_CACHE_LINE_SIZE));
	return eal_qsbr != NULL ? rte_rcu_qsbr_init(eal_qsbr, 2) : -1;
}

int eal_qsbr_stop(void **state)
{
	(void)state;
	free(eal_qsbr);
	eal_stop();
	return 0;
}
