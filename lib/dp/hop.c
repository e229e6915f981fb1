// SPDX-License-Identifier: BSD-3-Clause
#include "hop.h"

#include <stdio.h>

#include "hop_group.h"

bool hop_is_up(const void *arg, const struct nexthop *nexthop)
{
	const struct snapshot *s = arg;
	const struct spd_policy *tunnel;

	if (nexthop->kind != NEXTHOP_TUNNEL)
		return !atomic_load_explicit(
			&s->objects->link_down[nexthop->iface], memory_order_relaxed);
	tunnel = snapshot_tunnel(s, nexthop);
	return tunnel != NULL && objects_out(s->objects, tunnel->number) != NULL;
}

const struct nexthop *hop_find(const struct snapshot *s, const struct nexthop *nexthop,
	const struct ip_addr *src, const struct ip_addr *dst, uint64_t rest)
{
	const uint64_t flow[] = {src->q[0], src->q[1], dst->q[0], dst->q[1], rest};

	if (nexthop == NULL || nexthop->kind != NEXTHOP_SEVERAL)
		return nexthop;
	return &hop_choose(nexthop_group(nexthop), route_hash(s->routes, flow, RTE_DIM(flow)), NULL,
		hop_is_up, s)
			->nexthop;
}

void hops_format(char text[], size_t size, const struct snapshot *s, const struct nexthop *several)
{
	const struct hop_group *g = nexthop_group(several);
	char via[IP_ADDR_STRLEN];
	size_t len = 0;

	for (unsigned int i = 0; i < g->n && len < size; i++) {
		const struct hop *h = &g->hop[i];
		const bool by_router = h->nexthop.kind == NEXTHOP_GATEWAY;

		len += (size_t)snprintf(text + len, size - len, "%s%s%s%s %u", i > 0 ? ", " : "",
			by_router ? ip_addr_format(via, &h->nexthop.gateway) : "",
			by_router ? " " : "", s->iface[h->nexthop.iface].name, h->weight);
	}
}
