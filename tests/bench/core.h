// SPDX-License-Identifier: BSD-3-Clause
// The core that a benchmark runs on: its clock rate, and whether another hyperthread shares it.
// That takes up to half of the speed, and so steadily that the spread of the rounds does not show
// it. Called by the thread that is measured.
#pragma once

#include <stdbool.h>

struct core {
	// Of the additions that the core can do in a cycle, the part that this thread gets: 1
	// alone, about a half beside a second hyperthread that is as busy.
	double share;
	double clock; // core cycles in a TSC cycle
};

// Measures the core of the calling thread. Takes about 20 us.
struct core core_measure(void);

// Whether a share is that of a core shared with something else. Measured alone: 0.97 to 1.
static inline bool core_is_shared(double share)
{
	return share < 0.93;
}

// Data of core_measure() about processors, separately for its test.

// Additions that a core does in a cycle: the number of its units for integers.
// vendor: as CPUID writes it; avx512_fp16: of Intel, whether it has these instructions.
unsigned int core_units(const char *vendor, unsigned int family, bool avx512_fp16);

// The share of a thread with this many additions in a cycle. A core that does more than its known
// units is a newer one, and has as many as measured.
double core_share(double adds, unsigned int units);
