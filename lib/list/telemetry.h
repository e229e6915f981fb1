// SPDX-License-Identifier: BSD-3-Clause
// The lists that culvertctl and dpdk-telemetry.py request: the answer to /culvert/LIST[,OFFSET] has
// flat objects under their numbers "OFFSET", "OFFSET + 1", ..., as many as one answer holds; an
// empty object is the end. Requests that change something use the control socket (requests.h).
// (librte_telemetry 22.11 has no arrays of objects.)
// After that they take a filter, KEY=VALUE,..., of flows and others keys of their own, of all
// other lists the names of fields; the answer to an invalid one is {"error": "why"}. The answers
// are made on threads of librte_telemetry.
#pragma once

#include "view.h"

// Registers the commands: the n lists, and lists that are no lists of views. Control thread, when
// the gateway is complete.
void telemetry_start(struct control *c, const struct view_list lists[], unsigned int n);

// From now on every list is empty, and the gateway can be freed.
void telemetry_stop(void);
