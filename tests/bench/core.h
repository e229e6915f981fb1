// SPDX-License-Identifier: BSD-3-Clause
// Whether the core is ours alone. A hyperthread beside ours that is busy, and be it another virtual
// machine's, takes up to half of the speed, and so steadily that the rounds do not show it.
#pragma once

#include <stdbool.h>

// How long additions take of which four can be done at once, beside as many that wait for each
// other: 1/4 on a core of our own, more where its units are shared. Takes about 20 us.
double core_share(void);

// Whether a mean of that means a shared core. Seen here: 0.27 alone, 0.35 shared.
static inline bool core_is_shared(double share)
{
	return share > 0.31;
}
