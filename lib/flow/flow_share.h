// SPDX-License-Identifier: BSD-3-Clause
// How the ports of translated sources are shared (RFC 6888 REQ-9): for each address that sources
// become, by protocol, how many ports are in use, which destination has most of them, and which
// client. A scan counts them, a part of the table at each call, so that neither the packet path nor
// one call takes longer. Control thread; the results also by others with the gateway's lock.
#pragma once

#include "flow.h"

#define FLOW_SHARES_MAX 1024 // addresses and protocols; further ones are not counted

struct flow_share {
	struct ip_addr addr; // after translation
	uint8_t proto;
	uint32_t bindings; // flows
	uint32_t ports;    // different ones, in use towards any destination
	// The destination with most ports, how many, and the rule of one of them, by number.
	struct ip_addr to;
	rte_be16_t to_port; // 0 for ICMP
	uint16_t rule;
	uint32_t to_ports;
	// The client with most flows, and how many.
	struct ip_addr client;
	uint32_t client_bindings;
};

// Continues the scan, or begins another some seconds after the last one began. Call it every 100
// ms.
void flow_shares_tick(struct flow_table *t, uint64_t now_ms);

// The share of number i, those with most flows first, as the last complete scan found it; NULL
// after the last. The numbers of a destination and of a client are at least the true ones, and
// slightly more with millions of flows.
const struct flow_share *flow_share_at(const struct flow_table *t, unsigned int i);
