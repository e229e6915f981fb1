// SPDX-License-Identifier: BSD-3-Clause
// From frames to packets: checks Ethernet and IP headers once, answers ARP, and sorts what is left
// by what has to be done with it. Workers.
#pragma once

#include "worker.h"

// Takes n frames (at most RX_BURST_MAX), m->port saying where they came in, and fills w->esp,
// w->transit and w->local.
void input_burst(struct worker *w, struct rte_mbuf *const m[], uint16_t n);

// Sorts an IP packet, as it came in by a port or out of an SA, by where it goes: into w->esp,
// w->local or w->transit. Returns DROP_NONE or DROP_NOT_UNICAST.
enum drop input_sort(struct worker *w, struct pkt *p);
