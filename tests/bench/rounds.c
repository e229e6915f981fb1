// SPDX-License-Identifier: BSD-3-Clause
#include "rounds.h"

#include <rte_common.h>

#include "median.h"

void rounds_begin(struct rounds *r, unsigned int wanted)
{
	r->n = 0;
	r->wanted = wanted;
	r->left = ROUNDS_MORE * wanted;
}

bool rounds_add(struct rounds *r, double share, double clock)
{
	if (core_is_shared(share) && r->left > 0) {
		r->left--;
		return true;
	}
	r->share[r->n] = share;
	r->clock[r->n] = clock;
	return ++r->n < r->wanted;
}

void rounds_start(struct rounds *r)
{
	r->before = core_measure();
}

bool rounds_end(struct rounds *r)
{
	const struct core after = core_measure();

	return rounds_add(r, RTE_MIN(r->before.share, after.share), after.clock);
}

struct core rounds_core(struct rounds *r)
{
	return (struct core){median(r->share, r->n), median(r->clock, r->n)};
}
