// SPDX-License-Identifier: BSD-3-Clause
// The decision about a packet without a cached one: policy, route, firewall rules, and its
// connection. Its next hop has been looked up (forward_by()), its policies too (policy_find()).
// Workers.
#pragma once

#include "policy.h"
#include "worker.h"

// A packet with another ingress than its flow's direction is not part of the flow.
static inline uint32_t ingress_of(const struct worker *w, const struct pkt *p)
{
	return p->sa_in != NULL ? sa_in_at(p->sa_in, w->sa_place)->per_packet.ingress : p->iface;
}

// The functions return DROP_NONE if the packet passes: then p->sa_out or p->nexthop is set, and
// w->by names the policies and the rule.

// A packet that is invalid to connection tracking. If a rule accepts such packets, it continues
// without a flow; else reason is returned.
enum drop decide_invalid(struct worker *w, struct pkt *p, struct flow_pkt *fp, enum drop reason);

#define STALE DROP_COUNT // no drop: the packet has to be evaluated again

// The first packet of a flow. *f: the flow; NULL: the packet continues without one. STALE: another
// worker has made *f meanwhile, which gives the packet other ends; NULL: another flow has got its
// port.
enum drop decide_new_flow(struct worker *w, struct pkt *p, struct flow_pkt *fp,
	const struct policies *found, struct flow **f);

// A packet of the flow f whose decision or route is stale, that came by another ingress, or that is
// an ICMP error.
enum drop decide_known_flow(struct worker *w, struct pkt *p, struct flow_pkt *fp,
	const struct policies *found, struct flow *f);
