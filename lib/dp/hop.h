// SPDX-License-Identifier: BSD-3-Clause
// The hop of a flow among several of its route: of the hops that are up. Workers, and the control
// thread for packets of the gateway.
#pragma once

#include "ip_view.h"
#include "snapshot.h"

// Whether packets can be sent by a hop, an argument of hop_choose(): a tunnel is not down, or the
// port has a link. Each is one store of the control thread. arg: the snapshot.
bool hop_is_up(const void *arg, const struct nexthop *nexthop);

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
