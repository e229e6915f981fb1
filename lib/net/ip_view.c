// SPDX-License-Identifier: BSD-3-Clause
#include "ip_view.h"

struct ip_view ip_view_of(const void *ip, const struct ip_layout *at)
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
