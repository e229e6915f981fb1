// SPDX-License-Identifier: BSD-3-Clause
// Listing and flushing of flows. But for what says otherwise: threads of librte_telemetry, one at a
// time; they take the gateway's lock themselves, and not while they look through the table.
#pragma once

#include <rte_telemetry.h>

#include "gateway.h"

// Writes the flows that match the filter (telemetry_filter.h) from number offset on, as far as one
// answer goes. Each client has its own place in the table: one that asks for page after page sees
// every flow once that is there all the time, in a time linear in the size of the table.
void flow_page(struct rte_tel_data *d, struct gateway *g, unsigned int offset, const char *filter);

// Has the workers remove the flows that match the filter. False with the reason in why. Control
// thread.
bool flow_flush_filter(struct gateway *g, const char *filter, char *why, size_t size);
