// SPDX-License-Identifier: BSD-3-Clause
// Changes of the route table: one route at a time, as the kernel's, or all of a configuration by
// their difference to those of the one before. A look-up finds the table before or after a change.
// Control thread, unless noted.
#pragma once

#include "route.h"

// Adds a copy of the route, or replaces that with the same prefix, source and owner, unless that
// has the same next hop. Returns 0; -EINVAL: the prefix has bits set after its length; -ENOMEM, or
// -ENOSPC: the table is full, of which a part is kept for routes of the configuration. Then nothing
// has changed.
int route_put(struct route_table *t, const struct route *route);

// Deletes a route. Returns 0, or -ENOENT.
int route_delete(struct route_table *t, const struct ip_prefix *to, const struct ip_addr *from,
	enum route_owner owner);

// Leaves the routes of the configuration, and of the plan, that have skip and a next hop that is
// not up out of all look-ups, as if they were not there, and lets those be found again that are up.
// Call it at each change of that, and before route_plan_begin().
void route_table_skip(struct route_table *t, nexthop_is_up_fn *is_up, const void *arg);

struct route_source;

struct route_removed {
	uint32_t routes, nodes[2]; // by family
	struct route_source *sources;
};

// Everything that changes have removed since the last call, the caller's: to be released after a
// grace period (QSBR). Routes and nodes that readers may
// remember (route_remember()) wait then.
struct route_removed route_table_removed(struct route_table *t);
void route_table_release(struct route_table *t, struct route_removed removed);

// No reader goes by a route that it has remembered until now: routes and nodes that waited are
// removed again.
void route_table_forget(struct route_table *t);

// Whether too many wait: the readers have to forget.
bool route_table_must_forget(const struct route_table *t);

// Sets a function that is called at each change. NULL: none.
void route_table_watch(struct route_table *t, route_watch *watch, void *arg);

// Prepares that the n routes take the place of those of all owners but the kernel: takes all that
// they need. Of routes with the same prefix, source and owner the last counts. Look-ups of workers
// find nothing of it. Returns 0, or as route_put(), and nothing is prepared.
int route_plan(struct route_table *t, const struct route routes[], unsigned int n);

// Calls a function for the prefix of each route that the plan adds, replaces or deletes.
void route_plan_each(const struct route_table *t,
	void (*changed)(void *arg, const struct ip_prefix *to), void *arg);

// Gives the plan up.
void route_plan_drop(struct route_table *t);

// Executes it. First come the routes by which nothing is sent in clear, before the policies that
// belong to the plan are published, and then the others and the deletions: so no packet goes in
// clear by a route and a policy of which one is of another configuration.
void route_plan_begin(struct route_table *t);
void route_plan_end(struct route_table *t);
