// SPDX-License-Identifier: BSD-3-Clause
// The core that a benchmark runs on: whether another hyperthread shares it, which takes up to half
// of the speed, and so steadily that the rounds do not show it; and how fast it is clocked.
#pragma once

#include <stdbool.h>

struct core {
	// Time of additions of which four can be done at once, divided by that of as many that
	// depend on each other: 1/4 on a core without a busy second hyperthread, more with one.
	double share;
	double clock; // core cycles in a TSC cycle
};

// Measures the core of the calling thread. Takes about 20 us.
struct core core_measure(void);

// Whether a mean share is that of a shared core. Seen here: 0.28 alone, 0.35 shared.
static inline bool core_is_shared(double share)
{
	return share > 0.31;
}
