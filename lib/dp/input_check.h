// SPDX-License-Identifier: BSD-3-Clause
// Checks of the IP header of a packet that was received, or sent by the host. Workers; pure
// functions on packet memory.
#pragma once

#include "drop.h"
#include "ipv4.h"
#include "ipv6.h"

// Whether len octets begin with a sane IPv4 packet from the address of a host. Returns DROP_NONE,
// DROP_FRAME_SHORT, DROP_IP_HEADER, DROP_IP_TRUNCATED, DROP_IP_CHECKSUM or DROP_IP_SOURCE.
static __rte_always_inline enum drop input_check_v4(
	const struct rte_ipv4_hdr *ip, uint32_t len, bool sum_good)
{
	switch (ipv4_check(ip, len, sum_good)) {
	case IPV4_GOOD:
		break;
	case IPV4_SHORT:
		return DROP_FRAME_SHORT;
	case IPV4_MALFORMED:
		return DROP_IP_HEADER;
	case IPV4_TRUNCATED:
		return DROP_IP_TRUNCATED;
	case IPV4_CHECKSUM:
		return DROP_IP_CHECKSUM;
	}
	return ipv4_is_host_address(ip->src_addr) ? DROP_NONE : DROP_IP_SOURCE;
}

// Whether the options of a checked IPv4 header are well-formed, without a source route (RFC
// 7126 4.3, 4.4). Returns DROP_NONE, DROP_IP_HEADER or DROP_SOURCE_ROUTED.
static inline enum drop input_check_options(const struct rte_ipv4_hdr *ip)
{
	switch (ipv4_options_check(ip)) {
	case IPV4_OPTIONS_SOURCE_ROUTED:
		return DROP_SOURCE_ROUTED;
	case IPV4_OPTIONS_MALFORMED:
		return DROP_IP_HEADER;
	default:
		return DROP_NONE;
	}
}

// Whether len octets begin with a sane IPv6 packet. Returns DROP_NONE, DROP_FRAME_SHORT,
// DROP_IP_HEADER, DROP_IP_TRUNCATED or DROP_IP_SOURCE.
static inline enum drop input_check_v6(const struct rte_ipv6_hdr *ip, uint32_t len)
{
	switch (ipv6_check(ip, len)) {
	case IPV6_GOOD:
		return DROP_NONE;
	case IPV6_SHORT:
		return DROP_FRAME_SHORT;
	case IPV6_TRUNCATED:
		return DROP_IP_TRUNCATED;
	case IPV6_ADDRESS:
		return DROP_IP_SOURCE;
	default:
		return DROP_IP_HEADER;
	}
}
