// SPDX-License-Identifier: BSD-3-Clause
// The life of a trace (lib/trace/trace.h): one at a time. It ends when its packets are traced,
// when its client stops it, or has not requested new steps for some seconds. Control thread, with
// the gateway's lock.
#pragma once

#include "control.h"
#include "trace.h"

#define TRACING_FORGOTTEN_MS 5000

// Returns 0, -EBUSY (another one is on) or -ENOMEM.
int tracing_start(struct control *c, const struct trace_filter *filter, uint32_t packets);

// Packets held for their next hops are not traced further.
void tracing_stop(struct control *c);

// Often.
void tracing_tick(struct control *c, uint64_t now_ms);
