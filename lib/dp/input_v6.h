// SPDX-License-Identifier: BSD-3-Clause
// Received IPv6 packets: checks their headers (RFC 8200), processes and answers neighbour discovery
// (RFC 4861, RFC 4862 5.4) and MLD queries (RFC 3810), and sorts the others. Workers.
#pragma once

#include "worker.h"

// Takes an IPv6 frame whose Ethernet header was checked.
enum drop input_v6(struct worker *w, struct pkt *p);
