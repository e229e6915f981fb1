// SPDX-License-Identifier: BSD-3-Clause
// Which of several workers runs next on one CPU, each having a clock of its own: the one whose
// clock shows least. Called by the only thread.
#pragma once

#include <stdint.h>

#include "point.h"

struct clocks {
	uint64_t at[POINT_WORKERS_MAX]; // TSC cycles, by worker; advanced by the caller
	unsigned int n;                 // workers
	unsigned int last;              // the worker that runs
};

// The worker that runs next. Of workers whose clocks show the same, each does before one of them
// does again: it may wait for the others.
unsigned int clocks_next(struct clocks *c);

// The worker that runs has nothing to do: its clock is set to the next later one, if there is any.
void clocks_wait(struct clocks *c);
