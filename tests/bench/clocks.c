// SPDX-License-Identifier: BSD-3-Clause
#include "clocks.h"

#include <rte_common.h>

unsigned int clocks_next(struct clocks *c)
{
	unsigned int next = (c->last + 1) % c->n;

	for (unsigned int k = 2; k <= c->n; k++) {
		const unsigned int i = (c->last + k) % c->n;

		if (c->at[i] < c->at[next])
			next = i;
	}
	c->last = next;
	return next;
}

void clocks_wait(struct clocks *c)
{
	uint64_t *own = &c->at[c->last], next = UINT64_MAX;

	for (unsigned int i = 0; i < c->n; i++)
		if (c->at[i] > *own)
			next = RTE_MIN(next, c->at[i]);
	if (next != UINT64_MAX)
		*own = next;
}
