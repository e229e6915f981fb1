// SPDX-License-Identifier: BSD-3-Clause
// The rounds of a benchmark on a core that others use at times: a round counts if the core was the
// thread's own before and after it. Called by the thread that is measured.
#pragma once

#include <stdbool.h>

#include "core.h"

#define ROUNDS_MAX  9999
#define ROUNDS_MORE 9 // rounds that need not count, for each that does

struct rounds {
	unsigned int n;      // that count: the next one writes its figures at this place
	unsigned int wanted; // at most ROUNDS_MAX
	unsigned int left;   // that need not count
	double share[ROUNDS_MAX], clock[ROUNDS_MAX]; // of the core, in each that counts
	struct core before;                          // this round
};

void rounds_begin(struct rounds *r, unsigned int wanted);

// A round was run between two measurements of the core; share is the lower one of all threads that
// it ran on. Returns whether more are to be run.
bool rounds_add(struct rounds *r, double share, double clock);

// The same for a round of this thread alone, between the two calls, which measure its core.
void rounds_start(struct rounds *r);
bool rounds_end(struct rounds *r);

// The core of the rounds that count: medians.
struct core rounds_core(struct rounds *r);
