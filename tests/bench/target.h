// SPDX-License-Identifier: BSD-3-Clause
// The targets: core cycles per packet on one core, with connection state and replay check; and the
// gain by further cores. Core cycles, because the TSC does not show the speed of a core.
#pragma once

#include "point.h"

// Maximum; 0: no target.
struct target {
	unsigned int cycles;       // the whole pass, without ports
	unsigned int overhead;     // the pass without its cryptography
	unsigned int daemon;       // added by the daemon's loop to the pass
	unsigned int instructions; // of the whole pass, libraries included
	double speedup;            // minimum rate of several workers, to that of one
};

// engine: the engine of the SAs.
struct target target_of(const struct point *p, const char *engine);
