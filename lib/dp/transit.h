// SPDX-License-Identifier: BSD-3-Clause
// Packets to be forwarded: each is given the cached decision of its flow. Packets without a flow,
// or whose decision is of an older configuration, take the slow path in the same pass: policy,
// route, firewall rules. Workers.
#pragma once

#include "policy.h"
#include "worker.h"

// Moves the packets of w->transit to w->protect, w->forward or w->local; empties it.
void transit_burst(struct worker *w);

// The same, while packets are traced.
void transit_burst_traced(struct worker *w);

// Applies policy to a packet whose p->nexthop is known: inbound, outbound, or both between two
// tunnels. found is the result of policy_find(); of fp only icmp_error is read, unless that is set.
// Sends nothing. Returns the results of policy_check_inbound() and policy_check_outbound().
enum drop transit_policy(
	struct worker *w, struct pkt *p, const struct flow_pkt *fp, const struct policies *found);
