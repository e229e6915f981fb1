// SPDX-License-Identifier: BSD-3-Clause
#include "kernel_routes.h"

#include <stdlib.h>

#include "peers.h"
#include "retire.h"
#include "sa_table.h"

int kernel_route_put(struct control *c, const struct ip_prefix *to, const struct nexthop *nexthop)
{
	const struct route route = {.to = *to, .nexthop = *nexthop, .owner = ROUTE_KERNEL};
	int rc = route_put(c->snapshot->routes, &route);

	c->routes_changed |= rc == 0;
	return rc;
}

int kernel_route_delete(struct control *c, const struct ip_prefix *to)
{
	static const struct ip_addr any;
	int rc = route_delete(c->snapshot->routes, to, &any, ROUTE_KERNEL);

	c->routes_changed |= rc == 0;
	return rc;
}

static void release(struct control *c, void *removed)
{
	route_table_release(c->snapshot->routes, *(struct route_removed *)removed);
	free(removed);
}

void kernel_routes_end(struct control *c)
{
	struct route_removed *removed;

	if (!c->routes_changed || c->loading || !peers_reroute(c))
		return;
	removed = malloc(sizeof(*removed));
	if (removed == NULL)
		return;
	c->routes_changed = false;
	c->ike.redecide = true; // flows have next hops of the table
	objects_commit(c);
	*removed = route_table_removed(c->snapshot->routes);
	retire_call(c, release, removed);
}
