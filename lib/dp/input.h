// SPDX-License-Identifier: BSD-3-Clause
// Received frames: checks Ethernet and IP headers, answers ARP, and sorts packets. Workers.
#pragma once

#include "worker.h"

// Takes n frames (at most RX_BURST_MAX), m->port being the ingress port of each.
void input_burst(struct worker *w, struct rte_mbuf *const m[], uint16_t n);
