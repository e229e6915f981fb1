// SPDX-License-Identifier: BSD-3-Clause
// Sorts IP packets, received in clear or decapsulated, by the lookup that they need: of an SA
// (w->esp) or of a flow (w->transit). Neither needs a route if it is found. Fragments are
// reassembled first. Workers.
#pragma once

#include "worker.h"

// p holds one packet with a checked IP header, which is parsed: p->ip. Return the result of
// transit_add(); for malformed IPv4 options DROP_IP_HEADER, for malformed extension headers
// DROP_EXT_HEADERS; or DROP_SOURCE_ROUTED.
enum drop sort_v4(struct worker *w, struct pkt *p);
enum drop sort_v6(struct worker *w, struct pkt *p);

static inline enum drop sort_packet(struct worker *w, struct pkt *p)
{
	return ip_is_v4(pkt_ip(p)) ? sort_v4(w, p) : sort_v6(w, p);
}
