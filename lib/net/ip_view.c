// SPDX-License-Identifier: BSD-3-Clause
#include "ip_view.h"

#include "ipv4.h"
#include "ipv6.h"

// Reads what the packet carries; there may be nothing.
static void read_l4(struct ip_view *v, const void *ip)
{
	const uint8_t *l4 = (const uint8_t *)ip + v->l4_off;
	uint32_t len = v->len - v->l4_off;

	if (ip_proto_has_ports(v->proto) && len >= 4) {
		v->has_ports = true;
		memcpy(&v->src_port, l4, sizeof(v->src_port));
		memcpy(&v->dst_port, l4 + 2, sizeof(v->dst_port));
	} else if ((v->proto == IPPROTO_ICMP || v->proto == IPPROTO_ICMPV6) && len > 1) {
		v->has_icmp_type = true;
		v->icmp_type = l4[0];
		v->icmp_code = l4[1];
	}
}

static void read_v4(struct ip_view *v, const struct rte_ipv4_hdr *ip)
{
	*v = (struct ip_view){
		.src = ip_addr_from_v4(ip->src_addr),
		.dst = ip_addr_from_v4(ip->dst_addr),
		.len = rte_be_to_cpu_16(ip->total_length),
		.l4_off = rte_ipv4_hdr_len(ip),
		.proto = ip->next_proto_id,
		.ttl = ip->time_to_live,
		.tos = ip->type_of_service,
	};
	if (!ipv4_is_fragment(ip))
		read_l4(v, ip);
}

static void read_v6(struct ip_view *v, const struct rte_ipv6_hdr *ip)
{
	struct ipv6_upper upper;

	ipv6_upper_find(&upper, ip, ipv6_len(ip));
	*v = (struct ip_view){
		.src = ipv6_src(ip),
		.dst = ipv6_dst(ip),
		.len = ipv6_len(ip),
		.l4_off = upper.off,
		.proto = upper.proto,
		.ttl = ip->hop_limits,
		.tos = ipv6_tos(ip),
	};
	if (!upper.fragment)
		read_l4(v, ip);
}

void ip_view_read(struct ip_view *v, const void *ip)
{
	if (ip_is_v4(ip))
		read_v4(v, ip);
	else
		read_v6(v, ip);
}
