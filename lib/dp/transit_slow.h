// SPDX-License-Identifier: BSD-3-Clause
// The slow path of transit.c for one packet, which transit_translated.c takes as well. Workers.
#pragma once

#include "forward.h"
#include "policy.h"
#include "worker.h"

// First checks of the packet of the flow f, NULL: of a new one. ends: the routes to its ends. Sets
// *through if the packet is to be forwarded or punted. Local packets have no flow. Returns why it
// is dropped, or DROP_NONE.
enum drop transit_slow_begin(struct worker *w, struct pkt *p, struct flow_pkt *fp,
	const struct route_ends *ends, const struct flow *f, bool *through);

// Evaluates the packet by the policies that were found. *flow: that of the packet; NULL: none is
// known, and *flow becomes the one that the packet begins. Returns why it is dropped; DROP_NONE; or
// STALE: another worker has made *flow, after the packet was evaluated for other ends than its own.
enum drop transit_slow_path(struct worker *w, struct pkt *p, struct flow_pkt *fp,
	struct flow **flow, const struct policies *found);
