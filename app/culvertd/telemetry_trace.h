// SPDX-License-Identifier: BSD-3-Clause
// Tracing packets: what starts and stops a trace, on the control thread, and /culvert/trace_state
// and trace_steps, on threads of librte_telemetry, of which "culvertctl trace" is made. All take
// the gateway's lock themselves.
#pragma once

#include <rte_telemetry.h>

#include "gateway.h"

// Starts a trace. Filter: "count=N" and what packets have to be. Writes "trace NUMBER", or why not
// and returns false.
bool trace_start_filter(struct gateway *g, const char *filter, char *text, size_t size);

// Stops it. Filter: "trace=NUMBER". Not another one than that, which may have begun since. False
// with the reason in text.
bool trace_stop_filter(struct gateway *g, const char *filter, char *text, size_t size);

// Whether it is on, and how much it has brought. Filter: "trace=NUMBER".
void trace_state_page(
	struct rte_tel_data *d, struct gateway *g, unsigned int offset, const char *filter);

// Its steps from number offset on, as far as they are there. The same filter.
void trace_steps_page(
	struct rte_tel_data *d, struct gateway *g, unsigned int offset, const char *filter);
