// SPDX-License-Identifier: BSD-3-Clause
#include "egress.h"

// Where the policy's SA is for the packets of a flow.
static struct sa_out *_Atomic const *sa_of(const struct snapshot *s, uint16_t policy)
{
	return &s->objects->policy_out[policy];
}

uint64_t egress_of(const struct worker *w, const struct pkt *p)
{
	struct route_table *routes = w->snapshot->routes;
	const struct ip_addr src = pkt_src(p), dst = pkt_dst(p);
	bool of_table = p->nexthop != NULL && route_table_has(routes, p->nexthop);

	if (of_table && (p->sa_out == NULL || pkt_goes_into_tunnel(p)))
		return flow_egress_route(
			route_remember(routes, &src, &dst, p->nexthop), p->sa_out != NULL);
	return p->sa_out != NULL ? flow_egress_protect(sa_of(w->snapshot, w->by.out))
				 : flow_egress_clear(p->nexthop);
}

bool egress_find_again(struct worker *w, const struct pkt *p, struct flow *f, unsigned int dir,
	struct flow_decision *d)
{
	struct route_table *routes = w->snapshot->routes;
	const uint32_t number = (uint32_t)d->egress >> FLOW_NUMBER_SHIFT;
	const struct ip_addr src = pkt_src(p), dst = pkt_dst(p);
	uint64_t route;

	if ((d->egress & FLOW_PROTECT) != 0 || (d->egress & FLOW_ROUTE) == 0)
		return false;
	route = route_remember(routes, &src, &dst, route_nexthop(route_slots(routes), number));
	if (route == 0)
		return false;
	d->egress = flow_egress_route(route, (d->egress & FLOW_TUNNEL) != 0);
	flow_decision_set(f, dir, w->snapshot->flow_generation, d);
	return true;
}
