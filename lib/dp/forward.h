// SPDX-License-Identifier: BSD-3-Clause
// Stages of IP forwarding (RFC 1812 5.2, 5.3; RFC 8200) for packets in clear and for packets to be
// encapsulated: route, TTL, MTU. Workers.
#pragma once

#include "worker.h"

// Whether another station may have the source: it is no own address, unless the packet is from the
// station with the IKE daemon, and neither the broadcast nor the network address of a port's
// network (RFC 1122 3.2.1.3, RFC 1812 5.3.7). The host's own have been checked. Returns DROP_NONE
// or DROP_IP_SOURCE. For packets without a cached decision: those of established flows have passed.
enum drop forward_check_source(const struct worker *w, const struct pkt *p);

// Whether either end of a packet, as it was received, is an address of a standby group: who else
// sends from one, or to it, has not noticed that another gateway answers for that.
bool forward_has_standby_end(const struct worker *w, const struct pkt *p);

// Sets p->nexthop to that of the route to the destination, of several to that of the packet's flow.
// former: by which the packets of the flow have gone until now (see hop_choose()); NULL: it is not
// known.
void forward_find(const struct worker *w, struct pkt *p, const struct nexthop *former);

// The next hops of the routes to the ends of a packet; NULL: there is none.
struct route_ends {
	const struct nexthop *back; // to its source: route_find()
	const struct nexthop *to;   // to its destination: route_find_from()
};

// Those of a packet with its translation of this moment.
struct route_ends forward_ends(const struct worker *w, const struct pkt *p);

// Those of n packets, at most RX_BURST_MAX, at once.
void forward_ends_each(
	const struct worker *w, struct pkt *const p[], unsigned int n, struct route_ends ends[]);

// Sets p->nexthop as forward_find(), by the routes to its ends. Returns DROP_NONE,
// DROP_NOT_UNICAST, DROP_STANDBY (either end is an address of a standby group), or DROP_IP_SOURCE:
// as forward_check_source(), and for a link-local source whose packet would leave the link.
enum drop forward_by(struct worker *w, struct pkt *p, const struct route_ends *ends,
	const struct nexthop *former);

// The same for a packet whose routes and former next hop are not known.
enum drop forward_lookup(struct worker *w, struct pkt *p);

// The same for a datagram that no buffer holds, which can only be forwarded, in fragments again.
// ESP and ICMP errors have to be in one buffer: DROP_FRAME_SCATTERED. Packets to an own address may
// belong to a translated flow: pkt_is_oversized().
enum drop forward_oversized(struct worker *w, struct pkt *p);

// Checks that p->nexthop is a station on a link, or the host. Returns DROP_NONE, DROP_NO_ROUTE, or
// the reason of a route that leads nowhere: DROP_ROUTE_BLACKHOLE, DROP_ROUTE_UNREACHABLE or
// DROP_ROUTE_PROHIBIT.
enum drop forward_check_route(const struct pkt *p);

// Octets of the largest packet with the headers of this one that fits the path of p->sa_out, or the
// MTU of p->nexthop's port.
uint16_t forward_mtu(const struct worker *w, const struct pkt *p);

// The same, and sends an ICMP error, unless the reason is DROP_ROUTE_BLACKHOLE.
enum drop forward_route(struct worker *w, struct pkt *p);

// Whether the time to live or hop limit lets the packet be forwarded (RFC 1812 5.3.1, RFC 8200 3).
static inline bool forward_has_hops(const struct pkt *p)
{
	return (p->ip.v4 ? pkt_ip(p)->time_to_live : pkt_ip6(p)->hop_limits) > 1;
}

// Whether the gateway is a hop on the path of the packet, which is neither for the host nor of it.
static inline bool forward_is_hop(const struct pkt *p)
{
	return !p->keeps_ttl && !pkt_is_for_host(p);
}

// Checks the time to live where that matters. Returns DROP_NONE or DROP_TTL, after an ICMP error.
enum drop forward_check_hops(struct worker *w, const struct pkt *p);

// Decrements the TTL or hop limit of every packet but our own and the host's (DROP_TTL sends an
// ICMP error), and makes it fit its MTU: fragments IPv4 without DF, and datagrams that were
// received as fragments, into fragments no larger than those. The fragments are at the end of the
// burst; those without room follow once it was sent (fragments_drain()). Packets to be fragmented
// after ESP are counted in w->n_large. Others are dropped (DROP_TOO_BIG), and an ICMP error names
// the MTU less the ESP overhead.
void forward_burst(struct worker *w, struct burst *b);
