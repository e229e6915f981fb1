// SPDX-License-Identifier: BSD-3-Clause
// Whether workers are stalled, and whether packet buffers run short: checked ten times a second.
// The watchdog of the service manager is fed while all workers move. Control thread; telemetry
// reads struct health.
#pragma once

#include "control.h"

// Before workers run. watchdog_ms: how often the watchdog is to be fed; 0: never.
void health_start(struct control *c, uint32_t watchdog_ms);

// Posts that a worker has not moved in ten checks, and that it moves again. Call every 100 ms, with
// the gateway's lock: checks are counted and not time, so jumps of the clock do no harm.
void health_tick(struct control *c, uint64_t now_ms);
