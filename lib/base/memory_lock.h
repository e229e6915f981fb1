// SPDX-License-Identifier: BSD-3-Clause
// Keeps keys out of swap. They are in the configuration, in memory of libconfig and OpenSSL, and on
// stacks, so all memory of the process is locked. Linux, main thread, before keys are read.
#pragma once

#include <stdbool.h>

// Locks present memory and, at its first use, all future memory: pages that are never used need
// none. Returns 0, or -EPERM if RLIMIT_MEMLOCK is not unlimited and cannot be raised: once
// capabilities are given up, allocations beyond it would fail.
int memory_lock(void);

// Whether the system has swap.
bool memory_has_swap(void);
