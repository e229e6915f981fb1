// SPDX-License-Identifier: BSD-3-Clause
#include "flow_pkt.h"

#include <rte_icmp.h>

#include "icmp.h"
#include "tcp_option.h"

// Octets after the IP header that an ICMP error quotes at least (RFC 792; RFC 4443 2.4 c: many
// more).
#define QUOTED_MIN 8u

const struct flow_pkt flow_pkt_v4 = {
	.key.addr = {{.w = {0, 0, RTE_BE32(0xffff), 0}}, {.w = {0, 0, RTE_BE32(0xffff), 0}}},
	.v4 = true,
	.plain = true,
};

unsigned int flow_pkt_dir_of_network(const struct rte_ipv6_hdr *ip, const struct ip_layout *at)
{
	const struct ip_addr src = ipv6_src(ip), dst = ipv6_dst(ip);

	return !flow_comes_first(&src, at->src_port, &dst, at->dst_port);
}

uint8_t flow_pkt_scale(const struct rte_tcp_hdr *tcp)
{
	const uint8_t *option = tcp_option_find(tcp, NULL, TCP_OPTION_SCALE);

	if (option == NULL)
		return FLOW_NO_SCALE;
	return option[2] < FLOW_SCALE_MAX ? option[2] : FLOW_SCALE_MAX;
}

// The type of the query that an ICMP type asks or answers (RFC 792, RFC 950; RFC 4443 4, RFC 4620
// 4); *reply is set for an answer. -1: neither.
static int icmp_query(uint8_t type, bool v4, bool *reply)
{
	*reply = false;
	switch (v4 ? type : 256 + type) {
	case 8:  // echo
	case 13: // timestamp
	case 15: // information request
	case 17: // address mask request
	case 256 + ICMP6_ECHO_REQUEST:
	case 256 + 139: // node information
		return type;
	case 0: // echo reply
		*reply = true;
		return 8;
	case 14:
	case 16:
	case 18:
	case 256 + ICMP6_ECHO_REPLY:
	case 256 + 140:
		*reply = true;
		return type - 1;
	default:
		return -1;
	}
}

bool flow_icmp_is_query(uint8_t type, bool v4)
{
	bool reply;

	return icmp_query(type, v4, &reply) >= 0 && !reply;
}

// ICMP of the family, with len octets.
static enum drop read_icmp(struct flow_pkt *p, struct ip_addr src, struct ip_addr dst,
	const struct rte_icmp_hdr *icmp, uint32_t len, bool v4)
{
	bool reply;
	int query;

	if (len < sizeof(*icmp))
		return DROP_CT_INVALID;
	p->icmp_type = icmp->icmp_type;
	query = icmp_query(icmp->icmp_type, v4, &reply);
	if (query < 0) {
		flow_pkt_set_ends(p, src, 0, dst, 0);
		p->key.icmp_type = icmp->icmp_type;
		p->key.icmp_code = icmp->icmp_code;
		return DROP_NONE;
	}
	flow_pkt_set_ends(p, src, icmp->icmp_ident, dst, icmp->icmp_ident);
	p->icmp_reply = reply;
	p->key.icmp_type = (uint8_t)query;
	p->key.icmp_code = icmp->icmp_code;
	p->key.asker = (uint8_t)(1 + (p->dir ^ reply));
	return DROP_NONE;
}

static void read_quoted_ports(
	struct flow_pkt *p, struct ip_addr src, struct ip_addr dst, const void *l4)
{
	bool has_ports = ip_proto_has_ports(p->key.proto);
	const rte_be16_t *port = l4;

	flow_pkt_set_ends(p, src, has_ports ? port[0] : 0, dst, has_ports ? port[1] : 0);
	if (p->key.proto == IPPROTO_TCP)
		p->seq = rte_be_to_cpu_32(((const struct rte_tcp_hdr *)l4)->sent_seq);
}

// An error to dst with len octets of the packet that it is about: enough for the ends of that, and
// for TCP's sequence number.
static enum drop read_error(
	struct flow_pkt *p, struct ip_addr dst, const void *about, uint32_t len, bool v4)
{
	struct ip_layout at;
	struct ip_addr src;
	const void *l4;

	if (!ip_layout_quoted(&at, about, &len, v4) || (len < QUOTED_MIN && (v4 || !at.fragment)))
		return DROP_CT_INVALID;
	src = ip_src(about, v4);
	l4 = (const uint8_t *)about + at.l4_off;
	// A later fragment shows no ports, and an error goes to the sender.
	if (at.fragment || !ip_addr_equal(&src, &dst))
		return DROP_ICMP_UNRELATED;
	p->key.proto = at.proto;
	if (at.proto == (v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6)) {
		const struct rte_icmp_hdr *icmp = l4;

		if (icmp_is_error(icmp->icmp_type, v4)) // no error is sent about an error
			return DROP_ICMP_UNRELATED;
		read_icmp(p, src, ip_dst(about, v4), icmp, QUOTED_MIN, v4);
	} else {
		read_quoted_ports(p, src, ip_dst(about, v4), l4);
	}
	p->dir ^= 1;
	p->icmp_error = true;
	p->plain = p->plain_v6 = false;
	return DROP_NONE;
}

enum drop flow_pkt_read_quoted(struct flow_pkt *p, const void *about, bool v4)
{
	*p = (struct flow_pkt){.v4 = v4};
	return read_error(p, ip_src(about, v4), about, ip_len(about, v4), v4);
}

// Neither TCP nor UDP.
static enum drop read_other(struct flow_pkt *p, const void *ip, const struct ip_layout *at, bool v4)
{
	const struct rte_icmp_hdr *icmp = RTE_PTR_ADD(ip, at->l4_off);
	const uint32_t len = ip_len(ip, v4) - at->l4_off;
	const struct ip_addr src = ip_src(ip, v4), dst = ip_dst(ip, v4);
	const bool has_ports = ip_proto_has_ports(at->proto) && len >= 4;

	if (at->proto == (v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6)) {
		if (len >= sizeof(*icmp) && icmp_is_error(icmp->icmp_type, v4))
			return read_error(p, dst, icmp + 1, len - (uint32_t)sizeof(*icmp), v4);
		return read_icmp(p, src, dst, icmp, len, v4);
	}
	flow_pkt_set_ends(p, src, has_ports ? at->src_port : 0, dst, has_ports ? at->dst_port : 0);
	return DROP_NONE;
}

// Compiled for each family.
static __rte_always_inline enum drop read_as(
	struct flow_pkt *p, const void *ip, const struct ip_layout *at, const bool v4)
{
	const uint32_t all = ip_len(ip, v4);

	if (at->proto == IPPROTO_TCP)
		return flow_pkt_read_ports(p, ip, at, IPPROTO_TCP, v4);
	if (at->proto == IPPROTO_UDP)
		return flow_pkt_read_ports(p, ip, at, IPPROTO_UDP, v4);
	*p = (struct flow_pkt){.key.proto = at->proto,
		.ip_len = (uint16_t)(v4 ? all : RTE_MIN(all, (uint32_t)UINT16_MAX)),
		.v4 = v4,
		.plain = v4,
		.plain_v6 = !v4};
	return read_other(p, ip, at, v4);
}

enum drop flow_pkt_read(struct flow_pkt *p, const void *ip, const struct ip_layout *at)
{
	struct flow_brief brief;

	if (ip_layout_is_plain(at, IPPROTO_UDP, true))
		return flow_pkt_read_v4(p, ip, at, IPPROTO_UDP, &brief);
	if (ip_layout_is_plain(at, IPPROTO_TCP, true))
		return flow_pkt_read_v4(p, ip, at, IPPROTO_TCP, &brief);
	return at->v4 ? read_as(p, ip, at, true) : read_as(p, ip, at, false);
}
