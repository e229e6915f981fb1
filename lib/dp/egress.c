// SPDX-License-Identifier: BSD-3-Clause
#include "egress.h"

#include "hop_group.h"
#include "translate.h"

// Where the policy's SA is for the packets of a flow.
static struct sa_out *_Atomic const *sa_of(const struct snapshot *s, uint16_t policy)
{
	return &s->objects->policy_out[policy];
}

// Whether the next hop is that of a route of the table, or one of its several.
static bool is_of_table(const struct worker *w, const struct nexthop *nexthop)
{
	return nexthop != NULL &&
	       (nexthop->hop != 0 || route_table_has(w->snapshot->routes, nexthop));
}

static uint64_t remember(const struct worker *w, const struct pkt *p, const struct nexthop *nexthop,
	bool into_tunnel)
{
	const struct ip_addr src = pkt_src(p), dst = translate_dst(w, p);

	return flow_egress_route(
		nexthop != NULL ? route_remember(w->snapshot->routes, &src, &dst, nexthop) : 0,
		nexthop != NULL ? nexthop->hop : 0, into_tunnel);
}

uint64_t egress_of(const struct worker *w, const struct pkt *p)
{
	if (is_of_table(w, p->nexthop) && (p->sa_out == NULL || pkt_goes_into_tunnel(p)))
		return remember(w, p, p->nexthop, p->sa_out != NULL);
	return p->sa_out != NULL ? flow_egress_protect(sa_of(w->snapshot, w->by.out))
				 : flow_egress_clear(p->nexthop);
}

// The next hop of a decision by a route whose entry has not been released, or another one of its
// group.
static const struct nexthop *nexthop_of_place(
	const struct worker *w, uint64_t egress, unsigned int place)
{
	return nexthop_hop(
		route_nexthop(route_slots(w->snapshot->routes), flow_egress_number(egress)), place);
}

static const struct nexthop *nexthop_of(const struct worker *w, uint64_t egress)
{
	return nexthop_of_place(w, egress, flow_egress_hop(egress));
}

const struct nexthop *egress_hop(const struct worker *w, uint64_t of)
{
	const struct nexthop *hop = nexthop_of(w, of), *other;

	if (likely(objects_link_is_up(w->snapshot->objects, hop->iface)))
		return hop;
	for (unsigned int i = 1; (other = nexthop_of_place(w, of, i)) != NULL; i++)
		if (objects_link_is_up(w->snapshot->objects, other->iface))
			return NULL;
	return hop;
}

bool egress_find_again(struct worker *w, const struct pkt *p, struct flow *f, unsigned int dir,
	struct flow_decision *d)
{
	uint64_t found;

	if ((d->egress & FLOW_ROUTE) == 0 || flow_egress_number(d->egress) == FLOW_NUMBER_NONE)
		return false;
	found = remember(w, p, nexthop_of(w, d->egress), (d->egress & FLOW_TUNNEL) != 0);
	if (found == d->egress || flow_egress_number(found) == FLOW_NUMBER_NONE)
		return false;
	d->egress = found;
	flow_decision_replace(f, dir, d->mark, w->snapshot->flow_generation, d);
	return true;
}

const struct nexthop *egress_former(const struct worker *w, const struct flow *f, unsigned int dir)
{
	const struct route_slots *routes = route_slots(w->snapshot->routes);
	const uint32_t generation = flow_decision_generation(f, dir);
	struct flow_decision d;
	uint32_t number;

	if (generation == FLOW_DECIDING || !flow_decision_get(f, dir, generation, &d) ||
		(d.egress & FLOW_ROUTE) == 0)
		return NULL;
	number = flow_egress_number(d.egress);
	if (generation != w->snapshot->flow_generation
			? !route_is_at(routes, flow_egress_place(d.egress), number)
			: number == FLOW_NUMBER_NONE)
		return NULL;
	return nexthop_of(w, d.egress);
}
