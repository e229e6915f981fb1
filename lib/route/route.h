// SPDX-License-Identifier: BSD-3-Clause
// Routing table: longest-prefix match from a destination address to its next hop. The gateway's own
// and its networks' broadcast addresses are routes too, so one look-up classifies a destination.
// One table lives as long as the daemon. The control thread changes it (route_change.h); workers
// look routes up in it without a lock (trie.h).
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_common.h>

#include "addr.h"

enum nexthop_kind {
	NEXTHOP_CONNECTED,   // the destination is on the port's link
	NEXTHOP_GATEWAY,     // by a router on the port's link
	NEXTHOP_SEVERAL,     // by one of a group, which each flow has for itself (hop_group.h)
	NEXTHOP_TUNNEL,      // into the tunnel that iface is: its SA decides about port and router
	NEXTHOP_LOCAL,       // an address of this gateway, or of the host behind a port
	NEXTHOP_BLACKHOLE,   // nowhere: dropped in silence
	NEXTHOP_UNREACHABLE, // nowhere: dropped with an ICMP error
	NEXTHOP_PROHIBIT,    // the same with another error
	NEXTHOP_NONE,        // nowhere: dropped as without a route
	NEXTHOP_NOT_UNICAST, // broadcast, multicast, or never valid on the wire
};

struct nexthop {
	enum nexthop_kind kind;
	uint16_t iface;         // number of the interface that it is on, of lib/dp/interface.h
	uint8_t hop;            // its place in a group of several, from 1 on; 0: it is in none
	struct ip_addr gateway; // of NEXTHOP_GATEWAY
	struct ip_addr source;  // source address of originated packets
};

// Whether packets can be sent by a next hop.
typedef bool nexthop_is_up_fn(const void *arg, const struct nexthop *nexthop);

// Whether the next hop is on an interface, or of this gateway. NULL is allowed.
static inline bool nexthop_leads_on(const struct nexthop *nexthop)
{
	return nexthop != NULL && nexthop->kind <= NEXTHOP_LOCAL;
}

// The owner of a route. Of routes with the same prefix and source the first owner's is used; the
// others wait until it is deleted.
enum route_owner {
	ROUTE_OWN,     // own and broadcast addresses, and destinations of no packet
	ROUTE_NETWORK, // the network of a port
	ROUTE_FILE,    // the routes of the configuration
	ROUTE_KERNEL,
};

struct route {
	struct ip_prefix to;
	struct nexthop nexthop;
	struct ip_addr from; // own address that packets are sent from; none: any
	enum route_owner owner;
	bool skip; // by another route while the next hop is down, see route_table_skip()
};

struct route_table;

// Called at each change, before and after which packets to r->to go by these next hops; NULL: none.
typedef void route_watch(void *arg, const struct route *r, const struct nexthop *before,
	const struct nexthop *after);

// An empty table. NULL with errno ENOMEM. Control or load thread.
struct route_table *route_table_new(void);

// With everything in it: no worker reads it any more. NULL is allowed.
void route_table_free(struct route_table *t);

// The next hop of an address (IPv4: network byte order) for any source, or NULL: routes with a
// source are ignored. Lives until the route is released. A prefix of ::/0 matches IPv6 only.
const struct nexthop *route_find_v4(const struct route_table *t, rte_be32_t dst);
const struct nexthop *route_find(const struct route_table *t, const struct ip_addr *dst);

// The same for packets from src: prefers a route with that source to another one with the same
// prefix.
const struct nexthop *route_find_from(
	const struct route_table *t, const struct ip_addr *src, const struct ip_addr *dst);

// Whether there is any route with a source.
bool route_table_has_sources(const struct route_table *t);

// The next hop of an outer packet from src to a peer, or NULL: as route_find_from(), with the plan
// executed, but without routes that lead into tunnels. Control thread.
const struct nexthop *route_find_outer(
	const struct route_table *t, const struct ip_addr *src, const struct ip_addr *dst);

// route_find() of n addresses, at most ROUTE_FIND_MAX: each step is taken for all of them before
// the next one, so that they wait for memory once and not one after the other. Workers.
#define ROUTE_FIND_MAX 128
void route_find_each(const struct route_table *t, const struct ip_addr addr[], unsigned int n,
	const struct nexthop *found[]);

// The slots and next hops of a table, for readers that remember a route (route_remember()).
struct route_slots {
	const _Atomic uint32_t *slot; // by place
	const uint8_t *nexthop;       // by number, ROUTE_SIZE octets each
};

#define ROUTE_SIZE 104u

// Remembers the route to dst: its place and number, ((uint64_t)place << 32 | number). As long as
// route_is_at(), no change has concerned dst: a route that is replaced gets another number, a
// longer prefix puts a node into the slot, and a deletion gives the slot another number. Neither
// place nor number is used again before route_table_forget(), and nor is the group of its hops. 0:
// nexthop is neither that of the route to dst any more nor one of its hops, or routes from src
// might be. Workers.
uint64_t route_remember(struct route_table *t, const struct ip_addr *src, const struct ip_addr *dst,
	const struct nexthop *nexthop);

// Whether the next hop is that of a route.
bool route_table_has(const struct route_table *t, const struct nexthop *nexthop);

static inline const struct route_slots *route_slots(const struct route_table *t)
{
	return (const struct route_slots *)t; // begins with them
}

static inline bool route_is_at(const struct route_slots *s, uint32_t place, uint32_t number)
{
	return atomic_load_explicit(&s->slot[place], memory_order_acquire) == number;
}

static inline const struct nexthop *route_nexthop(const struct route_slots *s, uint32_t number)
{
	return (const struct nexthop *)(s->nexthop + (uint64_t)number * ROUTE_SIZE);
}

// A keyed hash of words about a flow, at most HASH_WORDS_MAX, for hop_choose().
uint32_t route_hash(const struct route_table *t, const uint64_t word[], unsigned int n);

// The route that has the next hop, which one of the functions above returned.
static inline const struct route *route_of(const struct nexthop *nexthop)
{
	return RTE_PTR_SUB(nexthop, offsetof(struct route, nexthop));
}

// For lists: all routes, in the order in which they were added as long as none was deleted; whether
// one is left out because its next hop is down; and the one that packets go by with the same prefix
// and source as the route, which waits if it is another one, or NULL. Control thread.
unsigned int route_count(const struct route_table *t);
const struct route *route_at(const struct route_table *t, unsigned int i);
bool route_is_skipped(const struct route *route);
const struct route *route_used(const struct route_table *t, const struct route *route);
