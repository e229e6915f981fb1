// SPDX-License-Identifier: BSD-3-Clause
// Received frames: checks Ethernet and IP headers, answers ARP, and sorts packets. Workers.
#pragma once

#include "worker.h"

// Takes n frames (at most RX_BURST_MAX), m->port being the ingress port of each.
void input_burst(struct worker *w, struct rte_mbuf *const m[], uint16_t n);

// Takes an IPv6 frame whose Ethernet header was checked: checks its headers (RFC 8200), processes
// and answers neighbour discovery (RFC 4861, RFC 4862 5.4) and MLD queries (RFC 3810), and sorts
// others.
enum drop input_v6(struct worker *w, struct pkt *p);
