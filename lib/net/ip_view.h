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
static inline struct ip_view ip_view_of(const void *ip, const struct ip_layout *at)
{
	const struct rte_ipv4_hdr *four = ip;
	const struct rte_ipv6_hdr *six = ip;
	const uint32_t len = ip_len(ip, at->v4), l4_len = at->fragment ? 0 : len - at->l4_off;
	const bool ports = ip_proto_has_ports(at->proto) && l4_len >= 4;
	const bool icmp =
		!ports && l4_len > 1 && (at->proto == IPPROTO_ICMP || at->proto == IPPROTO_ICMPV6);

	return (struct ip_view){// at once: parts would have to come together first
		.src = ip_src(ip, at->v4),
		.dst = ip_dst(ip, at->v4),
		.len = len,
		.l4_off = at->l4_off,
		.proto = at->proto,
		.ttl = at->v4 ? four->time_to_live : six->hop_limits,
		.tos = at->v4 ? four->type_of_service : ipv6_tos(six),
		.has_ports = ports,
		.has_icmp_type = icmp,
		.icmp_type = icmp ? at->icmp_type : 0,
		.icmp_code = icmp ? at->icmp_code : 0,
		.src_port = ports ? at->src_port : 0,
		.dst_port = ports ? at->dst_port : 0};
}
