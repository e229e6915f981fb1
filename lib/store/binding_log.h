// SPDX-License-Identifier: BSD-3-Clause
// The log of bindings: which source had which address and port, and when, for operators who have to
// keep that. A thread of its own takes the records of the workers (lib/flow/flow_binding.h) and
// appends lines to a file, so that neither workers nor the control thread wait for a disk. While
// that cannot be written to, records wait in the rings, then get lost.
#pragma once

#include "conf.h"
#include "flow_binding.h"

struct binding_log;

// Opens the file in state_dir, which reserve_open() has checked, and starts the thread; nothing
// without nat_log in the configuration. now_ms: the workers' clock. Before workers run. Returns 0,
// or -errno after logging the cause.
int binding_log_start(struct binding_log **log, const struct conf *conf, struct flow_table *flows,
	uint64_t (*now_ms)(void));

// Writes the records that are left, and ends the thread. NULL is allowed.
void binding_log_stop(struct binding_log *log);
