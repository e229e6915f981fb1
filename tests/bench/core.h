// SPDX-License-Identifier: BSD-3-Clause
// The core that a benchmark runs on: its clock rate, and whether another hyperthread shares it.
// That takes up to half of the speed, and so steadily that the spread of the rounds does not show
// it.
#pragma once

#include <stdbool.h>

struct core {
	// Time of additions of which four can run in parallel, divided by the time of as many
	// dependent ones: 1/4 on a core without a busy second hyperthread, more with one.
	double share;
	double clock; // core cycles in a TSC cycle
};

// Measures the core of the calling thread. Takes about 20 us.
struct core core_measure(void);

// Whether a mean share shows a shared core. Measured: 0.28 alone, 0.35 shared.
static inline bool core_is_shared(double share)
{
	return share > 0.31;
}
