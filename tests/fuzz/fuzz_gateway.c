// SPDX-License-Identifier: BSD-3-Clause
#include "fuzz_gateway.h"

#include <unistd.h>

struct gateway *fuzz_gateway;

static void stop(void)
{
	gateway_free(fuzz_gateway);
	if (harness_test_end(NULL) < 0)
		_exit(1);
	harness_stop(NULL);
}

void fuzz_gateway_start(void)
{
	if (harness_start(NULL) < 0 || harness_test_begin(NULL) < 0)
		exit(2);
	fuzz_gateway = site_a((struct site){0});
	atexit(stop);
}

// Nobody reads the events.
static void forget_events(void)
{
	struct event e;

	while (rte_ring_dequeue_elem(fuzz_gateway->w->events, &e, sizeof(e)) == 0)
		;
}

void fuzz_gateway_pass(struct rte_mbuf *m[], unsigned int n)
{
	gateway_pass_mbufs(fuzz_gateway, m, n);
	fuzz_gateway->now += TSC_HZ / 1000;
	gateway_pass(fuzz_gateway, NULL, 0);
	forget_events();
	if (rte_mempool_in_use_count(harness_pool) != worker_held(fuzz_gateway->w))
		abort();
}
