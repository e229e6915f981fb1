// SPDX-License-Identifier: BSD-3-Clause
// Routing table: longest-prefix match from a destination address to its next hop. The gateway's own
// and its networks' broadcast addresses are routes too, so one look-up classifies a destination.
// Immutable: made by the control thread as part of a snapshot, read by all workers.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <rte_common.h>

#include "addr.h"

enum nexthop_kind {
	NEXTHOP_CONNECTED,   // the destination is on the port's link
	NEXTHOP_GATEWAY,     // by a router on the port's link
	NEXTHOP_LOCAL,       // an address of this gateway, or of the host behind a port
	NEXTHOP_NOT_UNICAST, // broadcast, multicast, or never valid on the wire
};

struct nexthop {
	enum nexthop_kind kind;
	uint16_t iface;         // number of the interface that it is on, of lib/dp/interface.h
	struct ip_addr gateway; // of NEXTHOP_GATEWAY
	struct ip_addr source;  // source address of originated packets
};

struct route {
	struct ip_prefix to;
	struct nexthop nexthop;
	struct ip_addr from; // own address that packets are sent from; none: any
};

struct route_table;

// Makes a table of copies of n routes; of equal prefixes and sources the last counts. Returns NULL
// with errno ENOMEM.
struct route_table *route_table_new(const struct route routes[], unsigned int n);

// NULL is allowed.
void route_table_free(struct route_table *t);

// The next hop of an address (IPv4: network byte order) for any source, or NULL: routes with a
// source are ignored. Lives as long as the table. A prefix of ::/0 matches IPv6 only.
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

unsigned int route_count(const struct route_table *t);
const struct route *route_at(const struct route_table *t, unsigned int i);
