// SPDX-License-Identifier: BSD-3-Clause
// Flows, decisions, traces and counters of drivers, which are no lists of views: the answers to
// /culvert/flows, match, trace_state, trace_steps and device_counters, and what requests do to
// them and to neighbours. A page is the items from number offset on, as far as one answer goes, or
// the reason why there are none. Filters are those of telemetry_filter.h; gateway is a struct
// gateway. But for what says otherwise: threads of librte_telemetry. All take the gateway's lock
// themselves, and not while they look through the table of flows.
#pragma once

#include <rte_telemetry.h>

#include "gateway.h"

// The flows that match. Each client has its own place in the table: one that asks for page after
// page sees every flow once that is there all the time, in a time linear in the size of the table.
void flow_page(struct rte_tel_data *d, struct gateway *g, unsigned int offset, const char *filter);

// Has the workers remove the flows that match. False with the reason in why. Control thread.
bool flow_flush_filter(void *gateway, const char *filter, char *why, size_t size);

// Removes the neighbours that match and are not static, and writes how many. False with the reason
// in text. Control thread.
bool neighbour_flush_filter(void *gateway, const char *filter, char *text, size_t size);

// What would happen to a packet, one object. filter: source=ADDRESS,destination=ADDRESS and perhaps
// proto=, destination_port=, source_port=.
void match_page(struct rte_tel_data *d, struct gateway *g, unsigned int offset, const char *filter);

// Starts a trace. filter: "count=N" and what packets have to be. Writes "trace NUMBER", or why not
// and returns false. Control thread.
bool trace_start_filter(void *gateway, const char *filter, char *text, size_t size);

// Stops the trace of that number. filter: "trace=NUMBER", as of the pages. False with the reason in
// text. Control thread.
bool trace_stop_filter(void *gateway, const char *filter, char *text, size_t size);

// Counters that the driver of a port's device has by names of its own. filter: "name=PORT"; that of
// a VLAN has those of its parent.
void device_counters_page(
	struct rte_tel_data *d, struct gateway *g, unsigned int offset, const char *filter);

// Whether it is on, and how many packets it has; and its steps.
void trace_state_page(
	struct rte_tel_data *d, struct gateway *g, unsigned int offset, const char *filter);
void trace_steps_page(
	struct rte_tel_data *d, struct gateway *g, unsigned int offset, const char *filter);
