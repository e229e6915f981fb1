// SPDX-License-Identifier: BSD-3-Clause
#include "flow_pkt.h"

#include <rte_icmp.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "icmp.h"
#include "icmp6.h"
#include "ipv4.h"
#include "tcp_option.h"

#define SCALE_MAX 14 // RFC 7323 2.3

// Octets behind the IP header that an ICMP error quotes at least (RFC 792; RFC 4443 2.4 c: many
// more).
#define QUOTED_MIN 8u

// A bit for each sane combination of FIN, SYN, RST, PSH, ACK and URG: after the handshake every
// segment has ACK; SYN, FIN and RST exclude each other (RFC 9293 3.10.7).
#define FLAGS(combination) (UINT64_C(1) << (combination))
#define FLAGS_PUSH_URGENT(combination)                                                             \
	(FLAGS(combination) | FLAGS((combination) | RTE_TCP_PSH_FLAG) |                            \
		FLAGS((combination) | RTE_TCP_URG_FLAG) |                                          \
		FLAGS((combination) | RTE_TCP_PSH_FLAG | RTE_TCP_URG_FLAG))
#define SANE_FLAGS                                                                                 \
	(FLAGS_PUSH_URGENT(RTE_TCP_SYN_FLAG) |                                                     \
		FLAGS_PUSH_URGENT(RTE_TCP_SYN_FLAG | RTE_TCP_ACK_FLAG) |                           \
		FLAGS_PUSH_URGENT(RTE_TCP_ACK_FLAG) |                                              \
		FLAGS_PUSH_URGENT(RTE_TCP_FIN_FLAG | RTE_TCP_ACK_FLAG) |                           \
		FLAGS_PUSH_URGENT(RTE_TCP_RST_FLAG) |                                              \
		FLAGS_PUSH_URGENT(RTE_TCP_RST_FLAG | RTE_TCP_ACK_FLAG))

static __rte_always_inline bool comes_first(
	const struct ip_addr *a, rte_be16_t a_port, const struct ip_addr *b, rte_be16_t b_port)
{
	if (a->q[0] != b->q[0])
		return a->q[0] < b->q[0];
	if (a->q[1] != b->q[1])
		return a->q[1] < b->q[1];
	return a_port <= b_port;
}

static __rte_always_inline void set_ends(struct flow_pkt *p, struct ip_addr src,
	rte_be16_t src_port, struct ip_addr dst, rte_be16_t dst_port)
{
	unsigned int dir = !comes_first(&src, src_port, &dst, dst_port);

	uint64_t low = dir ? dst_port : src_port;
	uint64_t high = dir ? src_port : dst_port;

	p->dir = (uint8_t)dir;
	p->key.addr[dir] = src;
	p->key.addr[!dir] = dst;
	// Ports and protocol in one piece: the hash would wait for pieces to come together.
	p->key.q[4] = low | high << 16 | (uint64_t)p->key.proto << 32;
}

static_assert(RTE_BYTE_ORDER == RTE_LITTLE_ENDIAN &&
		      offsetof(struct flow_key, port) == 4 * sizeof(uint64_t) &&
		      offsetof(struct flow_key, proto) == 4 * sizeof(uint64_t) + 4,
	"ports and protocol as set_ends() puts them together");

// Of a SYN.
static uint8_t window_scale(const struct rte_tcp_hdr *tcp)
{
	const uint8_t *option = tcp_option_find(tcp, NULL, TCP_OPTION_SCALE);

	if (option == NULL)
		return FLOW_NO_SCALE;
	return option[2] < SCALE_MAX ? option[2] : SCALE_MAX;
}

static __rte_always_inline enum drop read_tcp(
	struct flow_pkt *p, const struct rte_tcp_hdr *tcp, uint32_t len)
{
	if (len < sizeof(*tcp))
		return DROP_CT_INVALID;

	uint32_t hdr_len = (tcp->data_off >> 4) * 4u;
	uint8_t flags = tcp->tcp_flags & 0x3f; // without ECN (RFC 3168 6.1)

	if (hdr_len < sizeof(*tcp) || hdr_len > len || (SANE_FLAGS >> flags & 1) == 0)
		return DROP_CT_INVALID;
	p->seq = rte_be_to_cpu_32(tcp->sent_seq);
	p->ack = rte_be_to_cpu_32(tcp->recv_ack);
	p->window = rte_be_to_cpu_16(tcp->rx_win);
	p->seq_len = (uint16_t)(len - hdr_len + (flags & RTE_TCP_FIN_FLAG) +
				((flags & RTE_TCP_SYN_FLAG) >> 1));
	p->tcp_flags = flags;
	if (unlikely((flags & RTE_TCP_SYN_FLAG) != 0))
		p->scale = window_scale(tcp);
	return DROP_NONE;
}

// The type of the query that an ICMP type asks or answers (RFC 792, RFC 950); *reply says which.
// -1: neither.
static int icmp_query(uint8_t type, bool *reply)
{
	switch (type) {
	case 0: // echo reply
		*reply = true;
		return 8;
	case 8:  // echo
	case 13: // timestamp
	case 15: // information request
	case 17: // address mask request
		*reply = false;
		return type;
	case 14:
	case 16:
	case 18:
		*reply = true;
		return type - 1;
	default:
		return -1;
	}
}

static bool icmp_is_error(uint8_t type)
{
	return type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
}

// ICMP of either family; query and reply are what icmp_query() or icmp6_query() say.
static enum drop read_query(struct flow_pkt *p, struct ip_addr src, struct ip_addr dst,
	const struct rte_icmp_hdr *icmp, int query, bool reply)
{
	p->icmp_type = icmp->icmp_type;
	if (query < 0) {
		set_ends(p, src, 0, dst, 0);
		p->key.icmp_type = icmp->icmp_type;
		p->key.icmp_code = icmp->icmp_code;
		return DROP_NONE;
	}
	set_ends(p, src, icmp->icmp_ident, dst, icmp->icmp_ident);
	p->icmp_reply = reply;
	p->key.icmp_type = (uint8_t)query;
	p->key.icmp_code = icmp->icmp_code;
	p->key.asker = (uint8_t)(1 + (p->dir ^ reply));
	return DROP_NONE;
}

static enum drop read_icmp(struct flow_pkt *p, const struct rte_ipv4_hdr *ip,
	const struct rte_icmp_hdr *icmp, uint32_t len)
{
	bool reply = false;
	int query;

	if (len < sizeof(*icmp))
		return DROP_CT_INVALID;
	query = icmp_query(icmp->icmp_type, &reply);
	return read_query(p, ip_addr_from_v4(ip->src_addr), ip_addr_from_v4(ip->dst_addr), icmp,
		query, reply);
}

// Not like ipv4_ports(): the packet may have been fragmented on its path.
static void read_quoted_ports(
	struct flow_pkt *p, struct ip_addr src, struct ip_addr dst, const void *l4)
{
	bool has_ports = ip_proto_has_ports(p->key.proto);
	const rte_be16_t *port = l4;

	set_ends(p, src, has_ports ? port[0] : 0, dst, has_ports ? port[1] : 0);
	if (p->key.proto == IPPROTO_TCP)
		p->seq = rte_be_to_cpu_32(((const struct rte_tcp_hdr *)l4)->sent_seq);
}

// Only the first octets of the packet are there: enough for its ends, and for TCP's sequence
// number.
static enum drop read_quoted(struct flow_pkt *p, const struct rte_ipv4_hdr *error,
	const struct rte_ipv4_hdr *ip, uint32_t len)
{
	uint8_t hdr_len;

	if (len < sizeof(*ip))
		return DROP_CT_INVALID;
	hdr_len = rte_ipv4_hdr_len(ip);
	if (ip->version_ihl >> 4 != 4 || hdr_len < sizeof(*ip) || len < hdr_len + QUOTED_MIN ||
		rte_be_to_cpu_16(ip->total_length) < hdr_len + QUOTED_MIN)
		return DROP_CT_INVALID;
	// A later fragment shows no ports, and an error goes to the sender.
	if ((ip->fragment_offset & RTE_BE16(RTE_IPV4_HDR_OFFSET_MASK)) != 0 ||
		ip->src_addr != error->dst_addr)
		return DROP_ICMP_UNRELATED;

	const void *l4 = (const uint8_t *)ip + hdr_len;

	p->key.proto = ip->next_proto_id;
	if (ip->next_proto_id == IPPROTO_ICMP) {
		const struct rte_icmp_hdr *icmp = l4;

		if (icmp_is_error(icmp->icmp_type)) // no error is sent about an error
			return DROP_ICMP_UNRELATED;
		read_icmp(p, ip, icmp, QUOTED_MIN);
	} else {
		read_quoted_ports(
			p, ip_addr_from_v4(ip->src_addr), ip_addr_from_v4(ip->dst_addr), l4);
	}
	p->dir ^= 1;
	p->icmp_error = true;
	return DROP_NONE;
}

static bool udp_is_whole(const struct rte_udp_hdr *udp, uint32_t len)
{
	return len >= sizeof(*udp) && rte_be_to_cpu_16(udp->dgram_len) >= sizeof(*udp) &&
	       rte_be_to_cpu_16(udp->dgram_len) <= len;
}

enum drop flow_pkt_ipv4(struct flow_pkt *p, const struct rte_ipv4_hdr *ip)
{
	const void *l4 = (const uint8_t *)ip + rte_ipv4_hdr_len(ip);
	uint16_t ip_len = rte_be_to_cpu_16(ip->total_length);
	uint32_t len = (uint32_t)(ip_len - rte_ipv4_hdr_len(ip));
	rte_be16_t src_port = 0, dst_port = 0;
	const struct rte_icmp_hdr *icmp = l4;
	const struct rte_udp_hdr *udp = l4;

	*p = (struct flow_pkt){.key.proto = ip->next_proto_id, .ip_len = ip_len};
	switch (ip->next_proto_id) {
	case IPPROTO_ICMP:
		if (len >= sizeof(*icmp) && icmp_is_error(icmp->icmp_type))
			return read_quoted(
				p, ip, (const void *)(icmp + 1), len - (uint32_t)sizeof(*icmp));
		return read_icmp(p, ip, icmp, len);
	case IPPROTO_TCP:
		if (read_tcp(p, l4, len) != DROP_NONE)
			return DROP_CT_INVALID;
		src_port = udp->src_port; // in the same place
		dst_port = udp->dst_port;
		break;
	case IPPROTO_UDP:
		if (!udp_is_whole(udp, len))
			return DROP_CT_INVALID;
		src_port = udp->src_port;
		dst_port = udp->dst_port;
		break;
	default:
		ipv4_ports(ip, &src_port, &dst_port);
		break;
	}
	set_ends(p, ip_addr_from_v4(ip->src_addr), src_port, ip_addr_from_v4(ip->dst_addr),
		dst_port);
	return DROP_NONE;
}

// The type of the query that an ICMPv6 type asks or answers (RFC 4443 4, RFC 4620 4); *reply says
// which. -1: neither.
static int icmp6_query(uint8_t type, bool *reply)
{
	switch (type) {
	case ICMP6_ECHO_REQUEST:
	case 139: // node information
		*reply = false;
		return type;
	case ICMP6_ECHO_REPLY:
	case 140:
		*reply = true;
		return type - 1;
	default:
		return -1;
	}
}

static enum drop read_icmp6(struct flow_pkt *p, const struct rte_ipv6_hdr *ip,
	const struct rte_icmp_hdr *icmp, uint32_t len)
{
	bool reply = false;
	int query;

	if (len < sizeof(*icmp))
		return DROP_CT_INVALID;
	query = icmp6_query(icmp->icmp_type, &reply);
	return read_query(p, ipv6_src(ip), ipv6_dst(ip), icmp, query, reply);
}

// As read_quoted(): of the len octets quoted, the extension headers have to be there, too.
static enum drop read_quoted6(struct flow_pkt *p, const struct rte_ipv6_hdr *error,
	const struct rte_ipv6_hdr *ip, uint32_t len)
{
	struct ipv6_upper upper;

	// The end may be cut off, not more.
	if (len < sizeof(*ip) || ipv6_check(ip, ipv6_len(ip)) != IPV6_GOOD)
		return DROP_CT_INVALID;
	len = RTE_MIN(len, ipv6_len(ip));
	if (ipv6_upper_find(&upper, ip, len) != IPV6_GOOD)
		return DROP_CT_INVALID;

	struct ip_addr src = ipv6_src(ip), receiver = ipv6_dst(error);

	if (upper.later || !ip_addr_equal(&src, &receiver))
		return DROP_ICMP_UNRELATED;
	if (len < upper.off + QUOTED_MIN)
		return DROP_CT_INVALID;

	const void *l4 = (const uint8_t *)ip + upper.off;

	p->key.proto = upper.proto;
	if (upper.proto == IPPROTO_ICMPV6) {
		const struct rte_icmp_hdr *icmp = l4;

		if (icmp6_is_error(icmp->icmp_type)) // no error is sent about an error
			return DROP_ICMP_UNRELATED;
		read_icmp6(p, ip, icmp, QUOTED_MIN);
	} else {
		read_quoted_ports(p, src, ipv6_dst(ip), l4);
	}
	p->dir ^= 1;
	p->icmp_error = true;
	return DROP_NONE;
}

enum drop flow_pkt_ipv6(struct flow_pkt *p, const struct rte_ipv6_hdr *ip)
{
	uint32_t ip_len = ipv6_len(ip);
	struct ipv6_upper upper;

	if (ipv6_upper_find(&upper, ip, ip_len) != IPV6_GOOD || upper.fragment)
		return DROP_CT_INVALID;

	const void *l4 = (const uint8_t *)ip + upper.off;
	uint32_t len = ip_len - upper.off;
	rte_be16_t src_port = 0, dst_port = 0;
	const struct rte_icmp_hdr *icmp = l4;

	*p = (struct flow_pkt){.key.proto = upper.proto, .ip_len = (uint16_t)ip_len};
	switch (upper.proto) {
	case IPPROTO_ICMPV6:
		if (len >= sizeof(*icmp) && icmp6_is_error(icmp->icmp_type))
			return read_quoted6(
				p, ip, (const void *)(icmp + 1), len - (uint32_t)sizeof(*icmp));
		return read_icmp6(p, ip, icmp, len);
	case IPPROTO_TCP:
		if (read_tcp(p, l4, len) != DROP_NONE)
			return DROP_CT_INVALID;
		break;
	case IPPROTO_UDP:
		if (!udp_is_whole(l4, len))
			return DROP_CT_INVALID;
		break;
	default:
		break;
	}
	if (ip_proto_has_ports(upper.proto) && len >= 4) {
		src_port = ((const rte_be16_t *)l4)[0];
		dst_port = ((const rte_be16_t *)l4)[1];
	}
	set_ends(p, ipv6_src(ip), src_port, ipv6_dst(ip), dst_port);
	return DROP_NONE;
}
