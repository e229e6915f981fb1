// SPDX-License-Identifier: BSD-3-Clause
// Flows that the other gateway of a pair has, in this table: after a takeover their packets
// continue. A worker inserts them, as it inserts all, so the control thread holds no lock for which
// workers could wait. None is evicted for them, and none of this gateway's own is replaced.
//
// The other one repeats each within FLOW_SCANS scans. One that it has not repeated in twice as many
// is removed. Without reports none is, but by its timeout.
#pragma once

#include "flow_copy.h"

struct flow_adopted {
	uint64_t taken;   // copies, of flows that are in the table now
	uint64_t refused; // copies for which there was no room, or whose ends another flow has
};

// Makes the inbox, before workers run; without it the rest has no effect. Returns 0 or -ENOMEM.
// Control thread, as all below.
int flow_inbox_new(struct flow_table *t);

// Whether the fields of a copy that this gateway does not determine can be those of a flow.
bool flow_copy_is_possible(const struct flow_copy *c);

// Lets a worker adopt a flow, whose copy is possible. If it has adopted it before, that gets the
// reported state, unless it had later packets here. False: too many wait.
bool flow_adopt(struct flow_table *t, const struct flow_copy *c);

// The other one has reported all flows that were due in a scan.
void flow_adopt_scanned(struct flow_table *t);

// Before a group becomes active: the flows that were adopted so far are this gateway's own, and
// stay without reports.
void flow_adopted_keep(struct flow_table *t);

struct flow_adopted flow_adopted_count(const struct flow_table *t);
