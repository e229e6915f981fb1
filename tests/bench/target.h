// SPDX-License-Identifier: BSD-3-Clause
// The targets: TSC cycles per packet on one core, with connection state and replay check.
#pragma once

#include "point.h"

// Maximum; 0: no target.
struct target {
	unsigned int cycles;   // the whole pass, without ports
	unsigned int overhead; // the pass without its cryptography
};

// engine: the engine of the SAs.
struct target target_of(const struct point *p, const char *engine);
