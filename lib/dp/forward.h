// SPDX-License-Identifier: BSD-3-Clause
// Stages of IP forwarding (RFC 1812 5.2, 5.3; RFC 8200) that packets in clear and packets to be
// protected share: time to live, size, route. Workers.
#pragma once

#include "worker.h"

// Finds where the destination is: p->nexthop. Returns DROP_NONE, DROP_NOT_UNICAST, or
// DROP_IP_SOURCE for a link-local source that is to leave its link.
enum drop forward_lookup(struct worker *w, struct pkt *p);

// Whether p->nexthop is a route on to a station.
bool forward_has_route(const struct pkt *p);

// Octets of the largest packet with the headers of this one that fits where it goes: the path of
// p->sa_out, or the port of p->nexthop.
uint16_t forward_mtu(const struct worker *w, const struct pkt *p);

// Demands a way to the destination. DROP_NO_ROUTE tells the sender.
enum drop forward_route(struct worker *w, struct pkt *p);

// Whether the time to live or hop limit lets the packet be forwarded (RFC 1812 5.3.1, RFC 8200 3).
bool forward_has_hops(const struct pkt *p);

// Demands that. DROP_TTL sends an ICMP error to the sender.
enum drop forward_check_hops(struct worker *w, const struct pkt *p);

// Lowers the time to live or hop limit of every packet in the burst but our own (DROP_TTL tells the
// sender), and makes it fit its way: cuts what may be cut, of IPv6 what came in as fragments no
// larger. The fragments are at the end of the burst; those that found no room follow when it has
// been sent (fragments_drain()). What is to be sealed whole and then cut is counted in w->n_large.
// Others are dropped (DROP_TOO_BIG) and their sender
// is told the size that fits, less what ESP adds.
void forward_burst(struct worker *w, struct burst *b);
