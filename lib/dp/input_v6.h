// SPDX-License-Identifier: BSD-3-Clause
// What lib/dp/input.c does, for IPv6: checks headers once (RFC 8200), hears and answers neighbour
// discovery (RFC 4861, RFC 4862 5.4), hears who asks for multicast listeners (RFC 3810), and sorts
// what is left. Workers.
#pragma once

#include "worker.h"

// Takes a frame with IPv6 whose Ethernet header has been checked.
enum drop input_v6(struct worker *w, struct pkt *p);

// Sorts a packet as input_sort() does, after its extension headers have been followed and its
// fragments put together. Returns what transit_add() does, DROP_EXT_HEADERS or DROP_SOURCE_ROUTED.
enum drop input_v6_sort(struct worker *w, struct pkt *p);
