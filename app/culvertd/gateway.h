// SPDX-License-Identifier: BSD-3-Clause
// The running daemon: everything that main() made. Set up before workers run; after that written by
// the control thread, unless said otherwise.
#pragma once

#include <stdint.h>

#include "control.h"
#include "loop.h"
#include "port.h"
#include "reserve.h"
#include "tracing.h"

struct gateway {
	struct control control;
	const char *conf_path;
	struct rte_mempool *large_pool; // for reassembled packets
	struct tracing tracing;
	struct port ports[PORTS_MAX]; // by index of control.conf->ports
	struct loop *loops[CONF_WORKERS_MAX];
	uint64_t started_ms;
	struct reserve *reserve;  // NULL: nothing persists
	struct host_thread *host; // NULL: no port has one
};

// Milliseconds of the TSC, the clock of the control thread.
uint64_t gateway_now_ms(void);

// Packets held inside the gateway. Any thread that holds the lock, or the control thread.
uint64_t gateway_held(const struct gateway *g);
