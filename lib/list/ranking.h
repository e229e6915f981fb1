// SPDX-License-Identifier: BSD-3-Clause
// The first items of a list by some order, for views of ten thousand SAs or tunnels that are
// repeated every second: numbers of items, as collect.h takes them. Called as the functions there
// are.
#pragma once

#include "collect.h"

#define RANKING_MAX 16

struct ranking {
	unsigned int n;
	unsigned int number[RANKING_MAX]; // the first in front
	uint64_t weight[RANKING_MAX];     // by which they are in order
};

// The SAs that carry most now.
void ranking_busiest_sas(struct ranking *r, const struct control *c);

// The tunnels whose SAs carry most now, in both directions.
void ranking_busiest_tunnels(struct ranking *r, const struct control *c);

// The tunnels that are not up, the worst states first: down, stopped, failing, silent, never; of
// silent ones the longest silence first.
void ranking_worst_tunnels(struct ranking *r, const struct control *c);
