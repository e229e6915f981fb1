// SPDX-License-Identifier: BSD-3-Clause
// The life of a trace (lib/trace/trace.h): one at a time. It ends when its packets are traced,
// when its client stops it, or has not requested new steps for some seconds. Guarded by the
// gateway's lock.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "control.h"
#include "trace.h"

#define TRACING_FORGOTTEN_MS 5000

struct tracing {
	struct trace *trace; // NULL: there never was one
	uint32_t number;     // of the one that is on or was the last, from 1
	bool on;
	uint64_t token;    // of the grace period after which there can be another
	uint64_t asked_ms; // when steps were last requested; telemetry writes it, with the lock
	uint64_t start;    // TSC
};

// Returns 0, -EBUSY (another one is on) or -ENOMEM. Control thread.
int tracing_start(struct tracing *t, const struct control *c, const struct trace_filter *filter,
	uint32_t packets, uint64_t now_ms);

// Packets held for their next hops are not traced further. Control thread.
void tracing_stop(struct tracing *t, const struct control *c);

// Often. Control thread.
void tracing_tick(struct tracing *t, const struct control *c, uint64_t now_ms);
