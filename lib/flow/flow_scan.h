// SPDX-License-Identifier: BSD-3-Clause
// Copies of the flows that the other gateway of a pair gets, part of the table at each call: so
// neither the packet path nor one call takes longer. Control thread.
#pragma once

#include "flow_copy.h"

#define FLOW_SCANS 8 // in which all flows are due, also flows that have been due before

struct flow_scan {
	uint32_t position; // the entry that was looked at last; 0: the scan begins
	uint32_t number;
	uint8_t receiver; // who gets the copies: all flows are due for another one. Not 0
};

// Takes a copy. False: it cannot now, and gets it again.
typedef bool flow_take_fn(void *arg, const struct flow_copy *copy);

// Continues the scan: calls take() with copies of flows that are due. These are old enough not to
// end in a moment, and have been answered, or are translated and hold a port. Returns true at the
// end of the table; the next call begins another scan.
bool flow_scan(
	struct flow_table *t, struct flow_scan *s, uint32_t now, flow_take_fn *take, void *arg);
