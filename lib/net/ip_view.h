// SPDX-License-Identifier: BSD-3-Clause
// Fields of a packet that policy, firewall rules and log lines use, the same for both families. For
// the slow path: it occupies one and a half cache lines. Workers; pure functions on packet memory.
#pragma once

#include "ip_layout.h"

struct ip_view {
	struct ip_addr src, dst;
	uint32_t len;       // octets of the IP packet
	uint16_t l4_off;    // octets from the IP header to the upper layer
	uint8_t proto;      // of the upper layer, after extension headers
	uint8_t ttl;        // or hop limit
	uint8_t tos;        // DSCP and ECN
	bool has_ports;     // not of fragments: only the first would show them (RFC 4301 7)
	bool has_icmp_type; // and a code; not of fragments
	uint8_t icmp_type, icmp_code; // of ICMP for either family
	rte_be16_t src_port, dst_port;
};

// Fields of a packet with the layout.
struct ip_view ip_view_of(const void *ip, const struct ip_layout *at);
