// SPDX-License-Identifier: BSD-3-Clause
// From frames to packets: checks Ethernet and IP headers once, answers ARP, and sorts what is left
// by what has to be done with it. Workers.
#pragma once

#include "natt.h"
#include "transit.h"
#include "worker.h"

// Takes n frames (at most RX_BURST_MAX), m->port saying where they came in, and fills w->esp and
// w->transit.
void input_burst(struct worker *w, struct rte_mbuf *const m[], uint16_t n);

// The same, while packets are traced.
void input_burst_traced(struct worker *w, struct rte_mbuf *const m[], uint16_t n);

// Sorts an IPv4 packet, as it came in by a port or out of an SA, by what has to be looked up for
// it: an SA (w->esp) or a flow. Fragments wait for the others of their packet. Neither needs a
// route if it is found. Returns what transit_add() does, DROP_SOURCE_ROUTED, or for malformed
// options DROP_IP_HEADER, or DROP_INNER_HEADER out of an SA.
enum drop input_sort(struct worker *w, struct pkt *p);

// The second half of it, for either family: proto is what stands off octets behind the start of the
// packet.
static __rte_always_inline enum drop input_sort_upper(
	struct worker *w, struct pkt *p, uint16_t off, uint8_t proto)
{
	if (proto == IPPROTO_ESP && p->sa_in == NULL)
		p->esp_off = off;
	else if (likely(proto != w->natt_proto) || !natt_classify(w, p, off))
		return transit_add(w, p);
	if (likely(pkt_has_esp(p)))
		sad_prefetch(w->snapshot->sad, pkt_esp(p)->spi);
	burst_add(&w->esp, p);
	return DROP_NONE;
}
