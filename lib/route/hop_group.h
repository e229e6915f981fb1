// SPDX-License-Identifier: BSD-3-Clause
// Next hops that share the flows of a route by their weights (ECMP). Equal sets of hops are one
// group, for however many routes, and a group never changes, but for its users: those of the table
// are the entries of its routes. The control thread makes and releases groups; workers choose a hop
// for each flow, and point at it for a burst at most.
//
// The choice is rendezvous hashing with weights (Thaler, Ravishankar, 1998): every hop draws a
// score for the flow, the best one that is up gets it. So a hop that goes down moves its own flows
// alone, and one that is added takes its share from all others evenly.
#pragma once

#include "route.h"

#define HOPS_MAX       255 // of a group: flows remember the index + 1 in 8 bits
#define HOP_WEIGHT_MAX 256 // as of Linux

struct hop {
	// Of kind NEXTHOP_CONNECTED, NEXTHOP_GATEWAY or NEXTHOP_TUNNEL.
	struct nexthop nexthop;
	uint32_t weight; // from 1 on: flows in relation to those of other hops
	uint64_t seed;   // of its scores; set by nexthop_take()
};

struct hop_group {
	// Of the control thread, which writes them for each route that comes or goes.
	struct hop_group *next; // in its bucket
	uint64_t hash;
	unsigned int users;
	// Workers read these, on lines of their own.
	unsigned int n __rte_cache_aligned;
	struct hop hop[];
};

#define HOP_GROUP_BUCKETS (1u << 16) // which take memory as far as they are used

// All groups of a table.
struct hop_groups {
	struct hop_group *bucket[HOP_GROUP_BUCKETS];
};

struct hop_groups *route_table_groups(struct route_table *t);

// The group of a next hop of kind NEXTHOP_SEVERAL, which has it in the place of a gateway.
static inline struct hop_group *nexthop_group(const struct nexthop *nexthop)
{
	return (struct hop_group *)(uintptr_t)nexthop->gateway.q[0];
}

// The next hop by which packets go: that of a route, or the one with this place, from 1 on, in its
// group. NULL: it has none there. Any thread.
static inline const struct nexthop *nexthop_hop(const struct nexthop *nexthop, unsigned int place)
{
	const struct hop_group *g;

	if (place == 0 || nexthop->kind != NEXTHOP_SEVERAL)
		return place == 0 ? nexthop : NULL;
	g = nexthop_group(nexthop);
	return place <= g->n ? &g->hop[place - 1].nexthop : NULL;
}

// The place of the first next hop; with the places after it, nexthop_hop() finds all.
static inline unsigned int nexthop_first_place(const struct nexthop *nexthop)
{
	return nexthop->kind == NEXTHOP_SEVERAL ? 1 : 0;
}

// The kind of the next hop, or of the first of several: either all of these are tunnels, or none.
static inline enum nexthop_kind nexthop_first_kind(const struct nexthop *nexthop)
{
	return nexthop_hop(nexthop, nexthop_first_place(nexthop))->kind;
}

// Whether the next hop, or one of several, is on the port's link, or that tunnel.
bool nexthop_leads_into(const struct nexthop *nexthop, uint16_t iface);

// The next hop of routes by these hops, 1 to HOPS_MAX in any order, of which equal ones are one
// with the sum of their weights. Of several it finds or makes the group, and the caller is a user
// of that. Returns 0, -ENOMEM, or -EINVAL: there are too many.
int nexthop_take(struct nexthop *nexthop, struct hop_groups *groups, const struct hop hops[],
	unsigned int n);

// One user more or less of the group, if the next hop has one. Without users it is freed.
void nexthop_use(const struct nexthop *nexthop);
void nexthop_release(const struct nexthop *nexthop, struct hop_groups *groups);

// Frees all, with whatever users.
void hop_groups_free(struct hop_groups *groups);

// Whether two lead to the same place, in whatever group; a struct nexthop has gaps.
bool nexthop_equal(const struct nexthop *a, const struct nexthop *b);

// The hop for a flow, by a keyed hash of that: was, by which the flow has gone before, if that is
// in the group and up; else the one with the best score of the hops that are up. If none is, was or
// the best one of all. was may be NULL: it is not known. Any thread.
const struct hop *hop_choose(const struct hop_group *group, uint32_t flow,
	const struct nexthop *was, nexthop_is_up_fn *is_up, const void *arg);
