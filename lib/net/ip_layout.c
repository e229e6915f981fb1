// SPDX-License-Identifier: BSD-3-Clause
#include "ip_layout.h"

#define OWN_TTL 64

bool ip_layout_read(struct ip_layout *at, const void *ip)
{
	struct ipv6_upper upper;
	enum ipv6_fault fault;

	if (ip_is_v4(ip)) {
		*at = ip_layout_v4(ip);
		return true;
	}
	fault = ipv6_upper_find(&upper, ip, ipv6_len(ip));
	*at = ip_layout_v6(ip, &upper);
	return fault == IPV6_GOOD;
}

uint16_t ip_header_write(uint8_t *out, const struct ip_addr *src, const struct ip_addr *dst,
	uint8_t proto, uint16_t len)
{
	struct rte_ipv4_hdr *four = (struct rte_ipv4_hdr *)out;
	struct rte_ipv6_hdr *six = (struct rte_ipv6_hdr *)out;

	if (ip_addr_is_v4(dst)) {
		*four = (struct rte_ipv4_hdr){
			.version_ihl = RTE_IPV4_VHL_DEF,
			.total_length = rte_cpu_to_be_16((uint16_t)(sizeof(*four) + len)),
			.time_to_live = OWN_TTL,
			.next_proto_id = proto,
			.src_addr = ip_addr_v4(src),
			.dst_addr = ip_addr_v4(dst),
		};
		ipv4_checksum_set(four);
		return sizeof(*four);
	}
	*six = (struct rte_ipv6_hdr){
		.vtc_flow = RTE_BE32(6u << 28),
		.payload_len = rte_cpu_to_be_16(len),
		.proto = proto,
		.hop_limits = OWN_TTL,
	};
	ipv6_src_set(six, src);
	ipv6_dst_set(six, dst);
	return sizeof(*six);
}
