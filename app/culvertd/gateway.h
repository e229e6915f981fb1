// SPDX-License-Identifier: BSD-3-Clause
// The running daemon: everything that main() made. Set up before workers run; after that written by
// the control thread, unless noted.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "control.h"
#include "loop.h"
#include "port.h"
#include "reserve.h"

struct gateway {
	bool verbose; // by an argument, whatever log_level is
	struct control control;
	// By index of control.conf->ports; the last one is never open: see LOOP_NO_PORT.
	struct port ports[PORTS_MAX + 1];
	// The workers' counts for the number of a VLAN when the VLAN got that.
	struct vlan_counters vlan_since[PORTS_MAX];
	struct loop *loops[CONF_WORKERS_MAX];
	struct reserve *reserve;      // NULL: nothing persists
	struct binding_log *bindings; // NULL: they are not logged
	struct host_thread *host;     // NULL: no port and no tunnel has one
};

// Milliseconds of the TSC, the clock of the control thread.
uint64_t gateway_now_ms(void);
