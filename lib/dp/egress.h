// SPDX-License-Identifier: BSD-3-Clause
// Where packets of a known flow go: through the SA of a policy, or by a route, which a flow
// remembers so that its next packet notices a change. Of a route with several next hops, a flow
// remembers the place of its own in their group, and finds the group by the route. Workers.
#pragma once

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "route.h"
#include "worker.h"

// The egress of a packet that the slow path lets pass, for the decision of its flow.
uint64_t egress_of(const struct worker *w, const struct pkt *p);

// After a change in the slot of the flow's route: if that is still the route, for the change was of
// other addresses, its new slot is remembered, in *d as well. False: it is another route, or no
// slot has changed.
bool egress_find_again(struct worker *w, const struct pkt *p, struct flow *f, unsigned int dir,
	struct flow_decision *d);

// The next hop that the packets of a direction have had until now, among several or alone, for
// hop_choose(). It is known as long as its route has not been released: the decision is of this
// generation, or the slot has not changed, and the route is there. NULL: it is not known.
const struct nexthop *egress_former(const struct worker *w, const struct flow *f, unsigned int dir);

// The next hop of flows by one of several in clear. NULL: its port has no link, and flows may move
// to another hop.
const struct nexthop *egress_hop(const struct worker *w, uint64_t of);

// Where the packets of flows with the same egress go. In a burst most go where the last one went,
// which is found once for them: a change concerns packets that are received after it.
struct egress {
	uint64_t of; // the egress of the flows; 0: of none
	struct sa_out *sa;
	const struct nexthop *nexthop;
	struct burst *next; // that they are added to; NULL: they are punted
};

static_assert(offsetof(struct pkt, nexthop) - offsetof(struct pkt, sa_out) ==
		      offsetof(struct egress, nexthop) - offsetof(struct egress, sa),
	"copied at once");

static __rte_always_inline void egress_set(struct pkt *p, const struct egress *e)
{
	memcpy(&p->sa_out, &e->sa, sizeof(e->sa) + sizeof(e->nexthop));
}

static __rte_always_inline void egress_protect(
	struct worker *w, uint64_t of, struct sa_out *sa, struct egress *e)
{
	e->of = of;
	e->sa = sa;
	e->nexthop = NULL;
	e->next = &w->protect;
	sa_out_prefetch(sa, w->sa_place);
}

static __rte_always_inline void egress_clear(
	struct worker *w, uint64_t of, const struct nexthop *nexthop, struct egress *e)
{
	e->of = of;
	e->sa = NULL;
	e->nexthop = nexthop;
	e->next = iface_is_port(nexthop->iface) ? &w->forward : NULL;
}

// The same for a flow that no policy sends through an SA.
static __rte_always_inline bool egress_follow(
	struct worker *w, uint64_t of, uint16_t policy, struct egress *e)
{
	const struct route_slots *routes = route_slots(w->snapshot->routes);
	const uint32_t number = flow_egress_number(of);
	const struct nexthop *hop;
	struct sa_out *sa;

	if ((of & FLOW_ROUTE) == 0) {
		egress_clear(w, of, flow_egress_nexthop(of), e);
		return true;
	}
	if (!route_is_at(routes, flow_egress_place(of), number))
		return false;
	if (likely((of & (FLOW_TUNNEL | FLOW_HOPS)) == 0)) {
		egress_clear(w, of, route_nexthop(routes, number), e);
		return true;
	}
	if ((of & FLOW_TUNNEL) == 0) {
		hop = egress_hop(w, of);
		if (hop != NULL)
			egress_clear(w, of, hop, e);
		return hop != NULL;
	}
	sa = objects_out(w->snapshot->objects, policy);
	if (unlikely(sa == NULL))
		return false;
	egress_protect(w, of, sa, e);
	return true;
}

// Finds where the packets of flows with an egress go. policy: the number of their outbound policy.
// False: there is no SA, the route has changed, or the tunnel that it leads into, or the link of
// its next hop among several, is down.
static __rte_always_inline bool egress_find(
	struct worker *w, uint64_t of, uint16_t policy, struct egress *e)
{
	struct sa_out *sa;

	if (unlikely((of & FLOW_PROTECT) == 0))
		return egress_follow(w, of, policy, e);
	sa = flow_egress_sa(of);
	if (unlikely(sa == NULL))
		return false;
	egress_protect(w, of, sa, e);
	return true;
}
