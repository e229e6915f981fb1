// SPDX-License-Identifier: BSD-3-Clause
// Which points to measure: every combination of some lists of values.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "point.h"

// What has values; those that vary fastest come last.
enum dim {
	DIM_ALG, // CIPHER[+AUTH]
	DIM_ENGINE,
	DIM_SAS,
	DIM_FLOWS,
	DIM_WORKERS,
	DIM_BURST,
	DIM_DIR,
	DIM_SIZE,
	DIMS
};

extern const char *const dim_names[DIMS];

// Values of each, separated by commas.
struct lists {
	const char *of[DIMS];
};

// A list that grows. All zero: empty.
struct points {
	size_t n;
	struct point *p;
	// What was left out because it cannot be:
	bool engine_lacks; // the engine is not here or does not have the algorithm
	bool flows_lack;   // fewer flows than SAs or workers
};

// Adds all combinations. Ends the program if a value is none.
void points_add(struct points *points, const struct lists *lists);
