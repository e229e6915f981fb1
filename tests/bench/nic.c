// SPDX-License-Identifier: BSD-3-Clause
#include "nic.h"

#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include <rte_eal.h>

#include "packet_pool.h"

#define BUFFERS 4095 // for each lane
#define CACHED  512

#define HUGEPAGES_MIN 512 // of 2 MB: as many as tests/bench/hugepages reserves

unsigned int nic_cpus(void)
{
	cpu_set_t cpus;

	sched_getaffinity(0, sizeof(cpus), &cpus);
	return (unsigned int)CPU_COUNT(&cpus);
}

// lcore 0 on the last CPU, lcore 1 on the one before, ...
static void lcores_write(char *to, size_t size, unsigned int lanes)
{
	unsigned int lane = 0;
	cpu_set_t cpus;
	size_t len = 0;

	sched_getaffinity(0, sizeof(cpus), &cpus);
	for (int cpu = CPU_SETSIZE - 1; cpu >= 0 && lane < lanes; cpu--)
		if (CPU_ISSET(cpu, &cpus))
			len += (size_t)snprintf(
				to + len, size - len, "%s%u@%d", lane > 0 ? "," : "", lane, cpu),
				lane++;
}

// Whether 1 GB of them is free.
static bool enough_hugepages(void)
{
	FILE *f = fopen("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "r");
	unsigned long pages;
	bool enough = f != NULL && fscanf(f, "%lu", &pages) == 1 && pages >= HUGEPAGES_MIN;

	if (f != NULL)
		fclose(f);
	return enough;
}

struct rte_mempool *nic_start(unsigned int lanes)
{
	const bool huge = enough_hugepages();
	char prefix[64], lcores[128] = "--lcores=";
	// DPDK takes more hugepages when it needs them; other memory is reserved at the start.
	char *args[] = {"bench_pass", huge ? "--in-memory" : "--no-huge", "-m",
		huge ? "64" : "1024", "--no-pci", "--no-telemetry", "--no-shconf", "--iova-mode=va",
		"--log-level=*:error", lcores, prefix};

	snprintf(prefix, sizeof(prefix), "--file-prefix=culvert-bench-%d", getpid());
	lcores_write(lcores + strlen(lcores), sizeof(lcores) - strlen(lcores), lanes);
	if (rte_eal_init(RTE_DIM(args), args) < 0)
		die("DPDK did not start");
	rmdir(rte_eal_get_runtime_dir()); // nothing is cached there

	struct rte_mempool *pool = packet_pool_new(
		"packets", lanes * (BUFFERS + 1) - 1, CACHED, RTE_MBUF_DEFAULT_BUF_SIZE, 0);

	if (pool == NULL)
		die("no memory for packet buffers");
	return pool;
}

void nic_stop(void)
{
	rte_eal_cleanup();
}
