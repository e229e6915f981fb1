// SPDX-License-Identifier: BSD-3-Clause
#include "fuzz_gateway.h"

#include <unistd.h>

#include "udp.h"

struct gateway *fuzz_gateway, *fuzz_gateway_v6;

static void stop(void)
{
	gateway_free(fuzz_gateway);
	gateway_free(fuzz_gateway_v6);
	if (harness_test_end(NULL) < 0)
		_exit(1);
	harness_stop(NULL);
}

void fuzz_gateway_start(void)
{
	if (harness_start(NULL) < 0 || harness_test_begin(NULL) < 0)
		exit(2);
	fuzz_gateway = site_a((struct site){.sa = IN_UDP}); // between A and B, not C
	fuzz_gateway_v6 = site_v6_b(OVER_V4, (struct site){0});
	atexit(stop);
}

// Nobody reads the events.
static void forget_events(struct gateway *g)
{
	struct event e;

	while (worker_event_take(g->w, &e))
		;
}

void fuzz_gateway_pass(struct gateway *g, struct rte_mbuf *m[], unsigned int n)
{
	gateway_pass_mbufs(g, m, n);
	g->now += TSC_HZ / 1000;
	gateway_pass(g, NULL, 0);
	forget_events(g);
	if (rte_mempool_in_use_count(harness_pool) !=
		worker_held(fuzz_gateway->w) + worker_held(fuzz_gateway_v6->w))
		abort();
}
