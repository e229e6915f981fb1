// SPDX-License-Identifier: BSD-3-Clause
// From frames to packets: checks Ethernet and IP headers once, answers ARP, and sorts what is left
// by what has to be done with it. Workers.
#pragma once

#include "worker.h"

// Takes n frames (at most RX_BURST_MAX), m->port saying where they came in, and fills w->esp and
// w->transit.
void input_burst(struct worker *w, struct rte_mbuf *const m[], uint16_t n);

// The same, while packets are traced.
void input_burst_traced(struct worker *w, struct rte_mbuf *const m[], uint16_t n);

// Sorts an IPv4 packet, as it came in by a port or out of an SA, by what has to be looked up for
// it: an SA (w->esp) or a flow. Fragments wait for the others of their packet. Neither needs a
// route if it is found. Returns what transit_add() does.
enum drop input_sort(struct worker *w, struct pkt *p);

// The second half of it, for either family: proto is what stands p->esp_off octets behind the IP
// header.
enum drop input_sort_upper(struct worker *w, struct pkt *p, uint8_t proto);
