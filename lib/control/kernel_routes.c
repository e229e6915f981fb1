// SPDX-License-Identifier: BSD-3-Clause
#include "kernel_routes.h"

#include <stdlib.h>

#include "hop.h"
#include "hop_group.h"
#include "peers.h"
#include "retire.h"
#include "sa_table.h"

enum { NONE, DROPPED, OWN, PROTECTED, UNPROTECTED, TUNNELS };

// Which packets from an address are admitted, and whether policies apply to those to it.
static unsigned int class_of(const struct snapshot *s, const struct nexthop *nexthop)
{
	if (nexthop == NULL || nexthop->kind == NEXTHOP_NOT_UNICAST)
		return NONE;
	if (!nexthop_leads_on(nexthop))
		return DROPPED;
	if (nexthop->kind == NEXTHOP_LOCAL)
		return OWN;
	if (nexthop_first_kind(nexthop) == NEXTHOP_TUNNEL)
		return TUNNELS;
	return hop_is_protected(s, nexthop) ? PROTECTED : UNPROTECTED;
}

// Whether all tunnels that the one leads into are among those of the other.
static bool has_tunnels(const struct nexthop *one, const struct nexthop *other)
{
	const struct nexthop *hop;

	for (unsigned int i = nexthop_first_place(one); (hop = nexthop_hop(one, i)) != NULL; i++)
		if (!nexthop_leads_into(other, hop->iface))
			return false;
	return true;
}

// Whether flows from and to the addresses may keep their decisions, but for their next hop. The
// length of routes to protected ports, and of routes that drop, counts: is_at_peer() of policy.c.
static bool decides_as(
	const struct snapshot *s, const struct nexthop *before, const struct nexthop *after)
{
	unsigned int class = class_of(s, before);

	if (class != class_of(s, after))
		return false;
	if (class == PROTECTED || class == DROPPED)
		return route_of(before)->to.len == route_of(after)->to.len;
	return class != TUNNELS || has_tunnels(before, after);
}

static void changed(void *control, const struct route *r, const struct nexthop *before,
	const struct nexthop *after)
{
	struct control *c = control;

	c->routes_changed = true;
	if (!decides_as(c->snapshot, before, after))
		flow_regions_add(&c->redecide, &r->to);
}

void kernel_routes_watch(struct control *c)
{
	route_table_watch(c->snapshot->routes, changed, c);
}

// Whether no packet may go to the prefix: it is part of a range that is never a destination.
static bool is_never(const struct route_table *t, const struct ip_prefix *to)
{
	const struct nexthop *found = route_find(t, &to->addr);

	return found != NULL && found->kind == NEXTHOP_NOT_UNICAST &&
	       route_of(found)->to.len <= to->len;
}

int kernel_route_put(struct control *c, const struct ip_prefix *to, const struct nexthop *nexthop)
{
	const struct route route = {.to = *to, .nexthop = *nexthop, .owner = ROUTE_KERNEL};

	return is_never(c->snapshot->routes, to) ? 0 : route_put(c->snapshot->routes, &route);
}

int kernel_route_delete(struct control *c, const struct ip_prefix *to)
{
	static const struct ip_addr any;

	return route_delete(c->snapshot->routes, to, &any, ROUTE_KERNEL);
}

// The part of a batch of changes that follows after a grace period.
struct batch {
	struct route_removed removed;
	struct flow_regions redecide;
};

// No worker decides by a route of before the batch any more.
static void batch_end(struct control *c, void *arg)
{
	struct batch *b = arg;

	route_table_release(c->snapshot->routes, b->removed);
	flow_redecide(c->flows, &b->redecide);
	if (--c->batches == 0)
		c->redecide_soon = (struct flow_regions){.any = false};
	free(b);
}

void kernel_routes_end(struct control *c)
{
	struct batch *b;

	if (c->tunnels_changed)
		build_routes_skip(c->snapshot);
	c->tunnels_changed = false;
	if (!c->routes_changed || c->loading || !objects_reserve(c) || !peers_reroute(c))
		return;
	b = malloc(sizeof(*b));
	if (b == NULL)
		return;
	c->routes_changed = false;
	c->ike.redecide |= route_table_must_forget(c->snapshot->routes);
	objects_commit(c);
	*b = (struct batch){route_table_removed(c->snapshot->routes), c->redecide};
	flow_regions_join(&c->redecide_soon, &c->redecide);
	c->redecide = (struct flow_regions){.any = false};
	c->batches++;
	retire_call(c, batch_end, b);
}
