// SPDX-License-Identifier: BSD-3-Clause
// What policy, firewall rules and log lines need to know of a packet, the same for both families.
// For the slow path: it takes a line and a half. Workers; pure functions on packet memory.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

#include "addr.h"

struct ip_view {
	struct ip_addr src, dst;
	uint32_t len;       // octets of the IP packet
	uint16_t l4_off;    // octets from the IP header to what it carries
	uint8_t proto;      // of that, behind extension headers
	uint8_t ttl;        // or hop limit
	uint8_t tos;        // DSCP and ECN
	bool has_ports;     // not of fragments: only the first would show them (RFC 4301 7)
	bool has_icmp_type; // and a code; not of fragments
	uint8_t icmp_type, icmp_code; // of ICMP for either family
	rte_be16_t src_port, dst_port;
};

// Whether a checked header is one of IPv4. Version 6 has a bit that 4 has not: asked for every
// packet, in several places, this is one instruction.
static inline bool ip_is_v4(const void *ip)
{
	return likely((*(const uint8_t *)ip & 0x20) == 0);
}

// Reads a packet of either version that ipv4_check(), or ipv6_check() and ipv6_upper_find(), have
// passed.
void ip_view_read(struct ip_view *v, const void *ip);
