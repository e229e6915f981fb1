// SPDX-License-Identifier: BSD-3-Clause
// What of the memory goes into a core: stacks and the data of programs, and nothing else, so that
// no key does. Keys are on the heap. What is called in a crash does without the C library's locks
// and memory. Linux, any thread where nothing else is said.
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

// In a crash, while all other threads are stopped: excludes everything but what is to be kept, and
// wipes what else is on its pages. The caller's stack is in use from the start of its part on.
// Returns whether that has worked: otherwise there must be no core.
bool core_strip(void);
