// SPDX-License-Identifier: BSD-3-Clause
#include "ip_view.h"

struct ip_view ip_view_of(const void *ip, const struct ip_layout *at)
{
	const struct rte_ipv4_hdr *four = ip;
	const struct rte_ipv6_hdr *six = ip;
	struct ip_view v = {
		.src = ip_src(ip, at->v4),
		.dst = ip_dst(ip, at->v4),
		.len = ip_len(ip, at->v4),
		.l4_off = at->l4_off,
		.proto = at->proto,
		.ttl = at->v4 ? four->time_to_live : six->hop_limits,
		.tos = at->v4 ? four->type_of_service : ipv6_tos(six),
	};
	uint32_t l4_len = at->fragment ? 0 : v.len - v.l4_off;

	if (ip_proto_has_ports(v.proto) && l4_len >= 4) {
		v.has_ports = true;
		v.src_port = at->src_port;
		v.dst_port = at->dst_port;
	} else if ((v.proto == IPPROTO_ICMP || v.proto == IPPROTO_ICMPV6) && l4_len > 1) {
		v.has_icmp_type = true;
		v.icmp_type = at->icmp_type;
		v.icmp_code = at->icmp_code;
	}
	return v;
}
