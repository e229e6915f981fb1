// SPDX-License-Identifier: BSD-3-Clause
// From frames to packets: checks Ethernet and IP headers once, answers ARP, and sorts what is left
// by what has to be done with it. Workers.
#pragma once

#include "worker.h"

// Takes n frames (at most RX_BURST_MAX), m->port saying where they came in, and fills w->esp,
// w->inbound, w->outbound and w->local.
void input_burst(struct worker *w, struct rte_mbuf *const m[], uint16_t n);
