// SPDX-License-Identifier: BSD-3-Clause
// Whether the workers go on, and whether packet buffers run short. Looks at what workers write
// anyway, ten times a second, and feeds the service manager's watchdog while all is well. Control
// thread; telemetry reads.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "conf.h"

struct gateway;

struct health_worker {
	uint64_t heartbeat; // as seen last
	uint64_t fed;       // as it was when the watchdog was fed
	uint32_t quiet;     // looks since it moved
	bool stalled;
	uint32_t stalls;
};

struct health {
	struct health_worker worker[CONF_WORKERS_MAX];
	uint64_t watchdog_next; // milliseconds of gateway_now_ms()
	uint32_t buffers_free_min;
	bool buffers_short;
};

// Before workers run.
void health_start(struct gateway *g);

// Looks. Logs a worker that has not moved in ten looks, and one that moves again. now_ms is
// gateway_now_ms(). Call every 100 ms, with the gateway's lock: jumps of the clock do no harm, as
// looks are counted and not time.
void health_tick(struct gateway *g, uint64_t now_ms);
