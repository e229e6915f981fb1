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

bool ip_layout_quoted(struct ip_layout *at, const void *ip, uint32_t *len, bool v4)
{
	const struct rte_ipv4_hdr *four = ip;
	struct ipv6_upper upper;

	if (*len < (v4 ? sizeof(*four) : sizeof(struct rte_ipv6_hdr)))
		return false;
	*len = RTE_MIN(*len, ip_len(ip, v4));
	if (v4) {
		*at = (struct ip_layout){
			.l4_off = rte_ipv4_hdr_len(four),
			.proto = four->next_proto_id,
			.v4 = true,
			.fragment =
				(four->fragment_offset & RTE_BE16(RTE_IPV4_HDR_OFFSET_MASK)) != 0,
		};
		if (four->version_ihl >> 4 != 4 || at->l4_off < sizeof(*four))
			return false;
	} else {
		// The end of the packet may be missing, but not its headers.
		if (ipv6_check(ip, ipv6_len(ip)) != IPV6_GOOD ||
			ipv6_upper_find(&upper, ip, *len) != IPV6_GOOD)
			return false;
		*at = (struct ip_layout){
			.l4_off = upper.off, .proto = upper.proto, .fragment = upper.later};
	}
	if (*len < at->l4_off)
		return false;
	*len -= at->l4_off;
	return true;
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
