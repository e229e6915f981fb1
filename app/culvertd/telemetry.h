// SPDX-License-Identifier: BSD-3-Clause
// What culvertctl and dpdk-telemetry.py ask for: /culvert/LIST[,OFFSET] answers with flat objects
// under their numbers "OFFSET", "OFFSET + 1", ..., as many as one answer holds; an empty object is
// the end. It only answers: whatever changes something is asked by the control socket (request.h).
// (librte_telemetry 22.11 has no arrays of objects.)
// /culvert/flows and others take a filter behind that, KEY=VALUE,... What they cannot
// do is answered with {"error": "why"}.
// The answers are made on threads of librte_telemetry.
#pragma once

#include "gateway.h"

// Registers the commands. Control thread, when the gateway is complete.
void telemetry_start(struct gateway *g);

// From now on every list is empty: the gateway may go.
void telemetry_stop(void);
