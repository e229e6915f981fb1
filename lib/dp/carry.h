// SPDX-License-Identifier: BSD-3-Clause
// Decisions of flows that a new configuration leaves as they are. lib/build compares it with the
// former one, and notes the differences (carry_notes.h); the next packet of a flow takes the
// decision over, unless a difference concerns it (decision 80). Workers.
#pragma once

#include "worker.h"

// Lets the decision about the packet's direction of its flow hold in this generation, if it is one
// of the generation before and would be the same now. False: there is none.
bool carry_decision(
	const struct worker *w, const struct pkt *p, struct flow *f, const struct flow_pkt *fp);
