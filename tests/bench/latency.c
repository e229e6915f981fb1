// SPDX-License-Identifier: BSD-3-Clause
// bench_latency is culvertd with paced ports (paced.h). Started by tests/bench/latency.
#include "loop.h"
#include "paced.h"
#include "paced_port.h"

static_assert(LOOP_BURST <= PACED_BURST, "a worker takes no more at once");

// Before seccomp forbids it.
__attribute__((constructor)) static void memory_open(void)
{
	paced_open();
}

int __real_loop_run(void *arg);
int __wrap_loop_run(void *arg);

// Before the worker begins: DPDK's functions read a port's functions and queues here.
int __wrap_loop_run(void *arg)
{
	const struct loop *l = arg;
	const unsigned int id = l->worker->id;

	paced_port_take(
		id, (uint16_t)id, l->worker->pool, (uint16_t[]){l->ports[0].id, l->ports[1].id});
	return __real_loop_run(arg);
}
