// SPDX-License-Identifier: BSD-3-Clause
#include "gateway.h"

#include <rte_cycles.h>

uint64_t gateway_now_ms(void)
{
	return rte_rdtsc() / (rte_get_tsc_hz() / 1000);
}

uint64_t gateway_held(const struct gateway *g)
{
	uint64_t held = 0;

	for (unsigned int i = 0; i < g->control.conf->n_workers; i++)
		held += loop_held(g->loops[i]);
	return held;
}
