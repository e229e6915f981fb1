// SPDX-License-Identifier: BSD-3-Clause
// Linux capabilities of the calling thread: sets with a bit for each, 1ull << CAP_NET_ADMIN. Any
// thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct capabilities {
	uint64_t permitted, effective;
};

// If the kernel does not tell: all of them.
struct capabilities capabilities_get(void);

// Returns 0 or -errno. Also in a signal handler.
int capabilities_set(uint64_t permitted, uint64_t effective);

// Gives up all of them: a process has some if root started it, or if it remains root. Returns 0 or
// -errno.
int capabilities_drop(void);

// Whether the thread lacks one that network devices of the kernel ask for.
bool capabilities_lack_network(void);
