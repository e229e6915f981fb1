// SPDX-License-Identifier: BSD-3-Clause
// From packets to frames: looks up the link address of the next hop, or holds the packet until it
// is resolved (RFC 1122 2.3.2.2). Workers.
#pragma once

#include "tracepoint.h"
#include "worker.h"

// Sends every packet of the burst on its p->nexthop; empties the burst. Traces none.
void output_send(struct worker *w, struct burst *b);

// The same as a stage of a pass.
static __rte_always_inline void output_burst(struct worker *w, struct burst *b)
{
	const uint16_t n = b->n;

	output_send(w, b);
	if (TRACED)
		trace_output(w, b, n);
}

// Whether a packet to dst could be sent to nexthop now. If not, the next hop is resolved.
bool output_ready(struct worker *w, const struct nexthop *nexthop, const struct ip_addr *dst);

// Sends an IP packet to a station on the link of the port, whose link address the caller has.
void output_to(
	struct worker *w, struct rte_mbuf *m, uint16_t port, const struct rte_ether_addr *mac);

// The same from one of the port's link addresses.
void output_from(struct worker *w, struct rte_mbuf *m, uint16_t port,
	const struct rte_ether_addr *src, const struct rte_ether_addr *dst);

// Puts a frame into the transmit buffer of the port.
void output_frame(struct worker *w, struct rte_mbuf *m, uint16_t port);

// early_still_held() of early.h, which a caller passes on: files below it do not include it.
typedef bool output_early_fn(struct worker *w, const struct held *h, uint16_t room);

// Sends held packets whose next hop is resolved, and drops packets whose time is over. Packets
// whose SA has been added go into w->esp, room at most, by early. Call every millisecond.
void output_held(struct worker *w, output_early_fn *early, uint16_t room);
