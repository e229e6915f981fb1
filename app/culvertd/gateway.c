// SPDX-License-Identifier: BSD-3-Clause
#include "gateway.h"

#include <rte_cycles.h>

uint64_t gateway_now_ms(void)
{
	return rte_rdtsc() / (rte_get_tsc_hz() / 1000);
}

struct counters gateway_counters(const struct gateway *g)
{
	struct counters sum = g->control.counters;

	for (unsigned int i = 0; i < g->control.conf->n_workers; i++) {
		const struct counters *c = &g->control.workers[i]->counters;

		sum.rx += c->rx;
		sum.originated += c->originated;
		sum.tx += c->tx;
		sum.local += c->local;
		sum.keepalives_in += c->keepalives_in;
		sum.passes += c->passes;
		sum.errors_suppressed += c->errors_suppressed;
		for (int d = 0; d < DROP_COUNT; d++)
			sum.drops[d] += c->drops[d];
	}
	return sum;
}

uint64_t gateway_held(const struct gateway *g)
{
	uint64_t held = 0;

	for (unsigned int i = 0; i < g->control.conf->n_workers; i++)
		held += loop_held(g->loops[i]);
	return held;
}

uint64_t counters_drops(const struct counters *c)
{
	uint64_t sum = 0;

	for (int d = 0; d < DROP_COUNT; d++)
		sum += c->drops[d];
	return sum;
}
