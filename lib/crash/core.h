// SPDX-License-Identifier: BSD-3-Clause
// The part of memory that goes into a core: stacks and the data of programs, so that no key does.
// Keys are on the heap. Functions for a crash use neither locks nor memory of the C library. Linux,
// any thread unless noted.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Finds the data of the program and its libraries, and the list of these that debuggers read.
// Returns 0 or -errno. Control thread, when all libraries are loaded.
int core_start(void);

// In a crash: this part of the memory is to be in the core, of its first and last pages nothing
// else. Returns whether there is room to remember it.
bool core_keep(uintptr_t start, uintptr_t end);

// In a crash, while all other threads are stopped: excludes everything but the kept parts, and
// wipes the rest of their pages. The caller's stack is in use from the start of its part on.
// Returns whether that has worked: otherwise there must be no core.
bool core_strip(void);
