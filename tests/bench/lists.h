// SPDX-License-Identifier: BSD-3-Clause
// The points to measure: every combination of some lists of values.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "point.h"

// The dimensions; the fastest varying ones are last.
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

// Reads lists from the options --alg and so on, and returns whether there is the option --json.
// Ends the program on others.
bool lists_read(struct lists *lists, int argc, char **argv);

// An array that grows. All zero: empty.
struct points {
	size_t n;
	struct point *p;
	// Number of combinations skipped as impossible:
	bool engine_lacks; // the engine is not available or does not have the algorithm
	bool flows_lack;   // fewer flows than SAs or workers
};

// Adds all combinations. Ends the program if a value is invalid.
void points_add(struct points *points, const struct lists *lists);
