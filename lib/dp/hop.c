// SPDX-License-Identifier: BSD-3-Clause
#include "hop.h"

#include "hop_group.h"

static const struct sa_out *out_of(const struct snapshot *s, const struct nexthop *nexthop)
{
	const struct spd_policy *tunnel = snapshot_tunnel(s, nexthop);

	return tunnel != NULL ? objects_out(s->objects, tunnel->number) : NULL;
}

bool hop_is_up(const struct snapshot *s, const struct nexthop *nexthop)
{
	return nexthop->kind != NEXTHOP_TUNNEL ? objects_link_is_up(s->objects, nexthop->iface)
					       : out_of(s, nexthop) != NULL;
}

// Whether packets can be sent by a hop of several, which are all tunnels or all in clear.
static bool takes_packets(const void *snapshot, const struct nexthop *nexthop)
{
	const struct sa_out *out;

	if (nexthop->kind != NEXTHOP_TUNNEL)
		return hop_is_up(snapshot, nexthop);
	out = out_of(snapshot, nexthop);
	return out != NULL && sa_stop_reason(&out->sa) != DROP_STANDBY;
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
		former, takes_packets, s)
			->nexthop;
}
