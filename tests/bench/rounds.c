// SPDX-License-Identifier: BSD-3-Clause
#include "rounds.h"

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

struct core rounds_core(struct rounds *r)
{
	return (struct core){median(r->share, r->n), median(r->clock, r->n)};
}
