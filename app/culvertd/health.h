// SPDX-License-Identifier: BSD-3-Clause
// Whether workers are stalled, and whether packet buffers run short: checked ten times a second.
// The watchdog of the service manager is fed while all workers move. Control thread; telemetry
// reads.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "loop.h"

struct health_worker {
	uint64_t heartbeat; // at the last check
	uint64_t fed;       // when the watchdog was fed
	uint32_t quiet;     // checks since it changed
	bool stalled;
	uint32_t stalls;
};

struct health {
	struct loop *const *loops;
	unsigned int n_workers;
	const struct rte_mempool *pool;
	struct health_worker worker[CONF_WORKERS_MAX];
	uint64_t watchdog_next; // milliseconds of gateway_now_ms()
	uint32_t buffers_free_min;
	bool buffers_short;
};

// Before workers run.
void health_start(struct health *h, struct loop *const loops[], unsigned int n,
	const struct rte_mempool *pool);

// Posts that a worker has not moved in ten checks, and that it moves again. Call every 100 ms, with
// the gateway's lock: checks are counted and not time, so jumps of the clock do no harm.
void health_tick(struct health *h, uint64_t now_ms);
