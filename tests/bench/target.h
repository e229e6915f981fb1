// SPDX-License-Identifier: BSD-3-Clause
// What is to be reached: TSC cycles per packet on one core, state and replay check on.
#pragma once

#include "point.h"

// At most so many; 0: nothing is promised.
struct target {
	unsigned int cycles;   // all of the pass, without ports
	unsigned int overhead; // over the bare cryptography
};

// engine: the one that serves the SAs.
struct target target_of(const struct point *p, const char *engine);
