// SPDX-License-Identifier: BSD-3-Clause
// The traffic of a member of bench_fleet without packets: the sequence numbers of SAs whose group
// it owns advance as workers and peers advance them.
#pragma once

#include "control.h"
#include "fleet_shared.h"

struct fleet_traffic;

// For the SAs of the running configuration: tunnel i has the SAs 2 i, outbound, and 2 i + 1, and is
// of group i % groups.
struct fleet_traffic *fleet_traffic_new(
	const struct control *c, struct fleet_shared *shared, unsigned int member);

// After roles of groups have changed.
void fleet_traffic_follow(struct fleet_traffic *t, const struct control *c);

// Advances the numbers of SAs that may be used, by the time since the last call.
void fleet_traffic_pass(struct fleet_traffic *t, const struct control *c, uint64_t now_ms);

// Whether the runs of all members together have a number of an SA twice. Prints the first. Sorts
// them: no member runs any more.
bool fleet_runs_overlap(struct fleet_shared *shared);
