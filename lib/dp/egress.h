// SPDX-License-Identifier: BSD-3-Clause
// Where packets of a known flow go: through the SA of a policy, or by a route, which a flow
// remembers so that its next packet notices a change. Workers.
#pragma once

#include "route.h"
#include "worker.h"

// The egress of a packet that the slow path lets pass, for the decision of its flow.
uint64_t egress_of(const struct worker *w, const struct pkt *p);

// After a change in the slot of the flow's route: if that is still the route, for the change was of
// other addresses, its new slot is remembered, in *d as well. False: it is another route.
bool egress_find_again(struct worker *w, const struct pkt *p, struct flow *f, unsigned int dir,
	struct flow_decision *d);

// Sets next hop and SA of a packet that no policy sends through an SA. False: its route has
// changed, or the tunnel that it leads into is down.
static __rte_always_inline bool egress_follow(
	const struct worker *w, struct pkt *p, const struct flow_decision *d)
{
	const struct route_slots *routes = route_slots(w->snapshot->routes);
	const uint32_t number = (uint32_t)d->egress >> FLOW_NUMBER_SHIFT;
	struct sa_out *sa;

	p->sa_out = NULL;
	if ((d->egress & FLOW_ROUTE) == 0) {
		p->nexthop = flow_egress_nexthop(d->egress);
		return true;
	}
	if (!route_is_at(routes, (uint32_t)(d->egress >> 32), number))
		return false;
	if ((d->egress & FLOW_TUNNEL) == 0) {
		p->nexthop = route_nexthop(routes, number);
		return true;
	}
	sa = objects_out(w->snapshot->objects, d->by.out);
	if (sa == NULL)
		return false;
	p->sa_out = sa;
	p->nexthop = NULL;
	return true;
}
