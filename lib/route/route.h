// SPDX-License-Identifier: BSD-3-Clause
// Routing table: longest-prefix match from a destination address to its next hop. The gateway's own
// and its networks' broadcast addresses are routes too, so one look-up classifies a destination.
// The control thread changes a table; workers look routes up in it without a lock (trie.h). Removed
// routes and nodes are freed after a grace period (QSBR): the caller announces its end.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_common.h>

#include "addr.h"

enum nexthop_kind {
	NEXTHOP_CONNECTED,   // the destination is on the port's link
	NEXTHOP_GATEWAY,     // by a router on the port's link
	NEXTHOP_TUNNEL,      // into the tunnel that iface is: its SA decides about port and router
	NEXTHOP_LOCAL,       // an address of this gateway, or of the host behind a port
	NEXTHOP_BLACKHOLE,   // nowhere: dropped in silence
	NEXTHOP_UNREACHABLE, // nowhere: dropped with an ICMP error
	NEXTHOP_PROHIBIT,    // the same with another error
	NEXTHOP_NOT_UNICAST, // broadcast, multicast, or never valid on the wire
};

struct nexthop {
	enum nexthop_kind kind;
	uint16_t iface;         // number of the interface that it is on, of lib/dp/interface.h
	struct ip_addr gateway; // of NEXTHOP_GATEWAY
	struct ip_addr source;  // source address of originated packets
};

// Whether the next hop is on an interface, or of this gateway. NULL is allowed.
static inline bool nexthop_leads_on(const struct nexthop *nexthop)
{
	return nexthop != NULL && nexthop->kind <= NEXTHOP_LOCAL;
}

struct route {
	struct ip_prefix to;
	struct nexthop nexthop;
	struct ip_addr from; // own address that packets are sent from; none: any
};

struct route_table;

// An empty table. NULL with errno ENOMEM. Control or load thread, as all functions that change one.
struct route_table *route_table_new(void);

// With everything in it: no worker reads it any more. NULL is allowed.
void route_table_free(struct route_table *t);

// Adds a copy of the route, or replaces that with the same prefix and source. Look-ups find the
// former routes or the new one. Returns 0; -ENOMEM, or -ENOSPC: the table is full. Then nothing has
// changed.
int route_put(struct route_table *t, const struct route *route);

// Deletes a route. Returns 0, or -ENOENT.
int route_delete(struct route_table *t, const struct ip_prefix *to, const struct ip_addr *from);

struct route_source;

struct route_removed {
	uint32_t routes, nodes;
	struct route_source *sources;
};

// Everything that changes have removed since the last call, the caller's: to be released after a
// grace period.
struct route_removed route_table_removed(struct route_table *t);
void route_table_release(struct route_table *t, struct route_removed removed);

// The next hop of an address (IPv4: network byte order) for any source, or NULL: routes with a
// source are ignored. Lives until the route is released. A prefix of ::/0 matches IPv6 only.
const struct nexthop *route_find_v4(const struct route_table *t, rte_be32_t dst);
const struct nexthop *route_find(const struct route_table *t, const struct ip_addr *dst);

// The same for packets from src: prefers a route with that source to another one with the same
// prefix.
const struct nexthop *route_find_from(
	const struct route_table *t, const struct ip_addr *src, const struct ip_addr *dst);

// The route that has the next hop, which route_find() or route_find_from() returned.
static inline const struct route *route_of(const struct nexthop *nexthop)
{
	return RTE_PTR_SUB(nexthop, offsetof(struct route, nexthop));
}

// For lists: all routes, in the order in which they were added as long as none was deleted. Control
// thread.
unsigned int route_count(const struct route_table *t);
const struct route *route_at(const struct route_table *t, unsigned int i);
