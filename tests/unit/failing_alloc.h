// SPDX-License-Identifier: BSD-3-Clause
// Memory that is exhausted at a chosen point: the C library's allocation functions, DPDK's and
// line_calloc(), of every library in the program, which is linked with failing_alloc_args. For
// tests of one thread. Not with a sanitizer, which has its own.
#pragma once

#include <stdbool.h>

// From now on, allocation number n fails (n > 0), and all that follow if for_good.
void alloc_fail(unsigned int n, bool for_good);

// No allocation fails any more. Returns whether one has failed.
bool alloc_fail_end(void);

// Blocks that are allocated.
long alloc_live(void);
