// SPDX-License-Identifier: BSD-3-Clause
// Next hops that share the packets of a route by their weights (ECMP). Equal sets of hops are one
// group, for however many routes, and a group never changes, but for its users: those of the table
// are its routes. The control thread makes and releases groups; workers choose a hop for each flow.
//
// The choice is rendezvous hashing with weights (Thaler, Ravishankar, 1998): every hop draws a
// score for the flow, the best one that is up gets it. So a hop that goes down moves its own flows
// alone, and one that is added takes its share from all others evenly.
#pragma once

#include "route.h"

#define HOPS_MAX       255 // of a group: flows remember the index + 1 in 8 bits
#define HOP_WEIGHT_MAX 256 // as of Linux

struct hop {
	struct nexthop nexthop; // of kind NEXTHOP_CONNECTED, NEXTHOP_GATEWAY or NEXTHOP_TUNNEL
	uint32_t weight;        // from 1 on: packets in relation to those of other hops
	uint64_t seed;          // of its scores; set by hop_group_take()
};

struct hop_group {
	struct hop_group *next; // of the control thread, as users
	unsigned int users;
	unsigned int n;
	struct hop hop[];
};

// All groups of a table.
struct hop_groups {
	struct hop_group *first;
};

struct hop_groups *route_table_groups(struct route_table *t);

// A next hop of kind NEXTHOP_SEVERAL, which has its group in the place of a gateway; and that
// group.
static inline struct nexthop nexthop_of_group(const struct hop_group *group)
{
	return (struct nexthop){
		.kind = NEXTHOP_SEVERAL, .gateway.q[0] = (uint64_t)(uintptr_t)group};
}

static inline struct hop_group *nexthop_group(const struct nexthop *nexthop)
{
	return (struct hop_group *)(uintptr_t)nexthop->gateway.q[0];
}

// The group with these hops, in any order, 2 to HOPS_MAX: finds or makes it; equal ones are one hop
// with the sum of their weights. The caller is a user of it. NULL with errno ENOMEM, or EINVAL:
// there are too many, or only one is left.
struct hop_group *hop_group_take(
	struct hop_groups *groups, const struct hop hops[], unsigned int n);

// One user more; one user less: without any, the group is freed. No worker uses it any more, as a
// grace period has passed since the last route with it was deleted.
void hop_group_use(struct hop_group *group);
void hop_group_release(struct hop_groups *groups, struct hop_group *group);

// Whether all fields are the same; a struct nexthop has gaps.
bool nexthop_equal(const struct nexthop *a, const struct nexthop *b);

// Whether packets can be sent to a hop.
typedef bool hop_is_up_fn(const void *arg, const struct nexthop *nexthop);

// The hop for a flow, by a keyed hash of that: was, where the flow has gone before, if that is in
// the group and up; else the one with the best score of the hops that are up, or of all if none is.
// was may be NULL. Any thread.
const struct hop *hop_choose(const struct hop_group *group, uint32_t flow,
	const struct nexthop *was, hop_is_up_fn *is_up, const void *arg);
