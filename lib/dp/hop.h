// SPDX-License-Identifier: BSD-3-Clause
// The hop of a flow among several of its route: of the hops that are up. Workers, and the control
// thread for packets of the gateway.
#pragma once

#include "ip_view.h"
#include "snapshot.h"

// Whether a route leads to a hop: a tunnel is not down, or the port has a link. Each is one store
// of the control thread. That of a standby group is not down: skip must not lead elsewhere, in
// clear.
bool hop_is_up(const struct snapshot *s, const struct nexthop *nexthop);

// Whether the next hop, or each of several, is on the protected side. If nexthop_leads_on().
bool hop_is_protected(const struct snapshot *s, const struct nexthop *nexthop);

// The next hop itself, or of several the one for packets from src to dst, whose protocol and ports
// are in rest (hop_rest()), or 0. former: by which they have gone until now; NULL: it is not known.
// nexthop NULL is allowed.
const struct nexthop *hop_find(const struct snapshot *s, const struct nexthop *nexthop,
	const struct ip_addr *src, const struct ip_addr *dst, uint64_t rest,
	const struct nexthop *former);

// Of a packet that is not fragmented, or of the first fragment.
static inline uint64_t hop_rest(const struct ip_view *v)
{
	return v->has_ports ? (uint64_t)v->proto << 32 | (uint64_t)v->src_port << 16 | v->dst_port
			    : (uint64_t)v->proto << 32;
}
