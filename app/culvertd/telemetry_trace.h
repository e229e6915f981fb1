// SPDX-License-Identifier: BSD-3-Clause
// Tracing packets: /culvert/trace_start, trace_state, trace_steps and trace_stop, of which
// "culvertctl trace" is made. Threads of librte_telemetry; take the gateway's lock themselves.
#pragma once

#include <rte_telemetry.h>

#include "gateway.h"

// Filter: "count=N" and what packets have to be. Answers with the number of the trace.
void trace_start_page(
	struct rte_tel_data *d, struct gateway *g, unsigned int offset, const char *filter);

// Stops it. Filter: "trace=NUMBER". Not another one than that, which may have begun since.
void trace_stop_page(
	struct rte_tel_data *d, struct gateway *g, unsigned int offset, const char *filter);

// Whether it is on, and how much it has brought. The same filter.
void trace_state_page(
	struct rte_tel_data *d, struct gateway *g, unsigned int offset, const char *filter);

// Its steps from number offset on, as far as they are there. The same filter.
void trace_steps_page(
	struct rte_tel_data *d, struct gateway *g, unsigned int offset, const char *filter);
