// SPDX-License-Identifier: BSD-3-Clause
#include "hop.h"

#include "hop_group.h"

bool hop_is_up(const void *arg, const struct nexthop *nexthop)
{
	const struct snapshot *s = arg;
	const struct spd_policy *tunnel;

	if (nexthop->kind != NEXTHOP_TUNNEL)
		return objects_link_is_up(s->objects, nexthop->iface);
	tunnel = snapshot_tunnel(s, nexthop);
	return tunnel != NULL && objects_out(s->objects, tunnel->number) != NULL;
}

bool hop_is_protected(const struct snapshot *s, const struct nexthop *nexthop)
{
	const struct nexthop *hop;

	for (unsigned int i = nexthop_first_place(nexthop); (hop = nexthop_hop(nexthop, i)) != NULL;
		i++)
		if (s->iface[hop->iface].unprotected)
			return false;
	return true;
}

const struct nexthop *hop_find(const struct snapshot *s, const struct nexthop *nexthop,
	const struct ip_addr *src, const struct ip_addr *dst, uint64_t rest,
	const struct nexthop *former)
{
	const uint64_t flow[] = {src->q[0], src->q[1], dst->q[0], dst->q[1], rest};

	if (nexthop == NULL || nexthop->kind != NEXTHOP_SEVERAL)
		return nexthop;
	return &hop_choose(nexthop_group(nexthop), route_hash(s->routes, flow, RTE_DIM(flow)),
		former, hop_is_up, s)
			->nexthop;
}
