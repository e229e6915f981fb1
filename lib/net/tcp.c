// SPDX-License-Identifier: BSD-3-Clause
#include "tcp.h"

#include <rte_tcp.h>

#include "ipv4.h"
#include "ipv6.h"

#define OWN_TTL 64

// A segment inside its packet.
struct segment {
	const struct rte_tcp_hdr *tcp;
	uint32_t len; // octets, header included
};

static struct segment segment_v4(const struct rte_ipv4_hdr *ip)
{
	uint8_t hdr_len = rte_ipv4_hdr_len(ip);

	return (struct segment){(const void *)((const uint8_t *)ip + hdr_len),
		(uint32_t)rte_be_to_cpu_16(ip->total_length) - hdr_len};
}

static struct segment segment_v6(const struct rte_ipv6_hdr *ip, const struct ipv6_upper *upper)
{
	return (struct segment){
		(const void *)((const uint8_t *)ip + upper->off), ipv6_len(ip) - upper->off};
}

static bool may_be_reset(struct segment s)
{
	return s.len >= sizeof(*s.tcp) && (s.tcp->tcp_flags & RTE_TCP_RST_FLAG) == 0;
}

// Octets of sequence space that the segment takes.
static uint32_t seq_len(struct segment s)
{
	uint32_t header = (s.tcp->data_off >> 4) * 4u;
	uint32_t text = s.len > header ? s.len - header : 0;

	return text + ((s.tcp->tcp_flags & RTE_TCP_SYN_FLAG) != 0) +
	       ((s.tcp->tcp_flags & RTE_TCP_FIN_FLAG) != 0);
}

// Writes all but the checksum.
static void reset_write(struct rte_tcp_hdr *tcp, struct segment to)
{
	bool acked = (to.tcp->tcp_flags & RTE_TCP_ACK_FLAG) != 0;
	uint32_t next = rte_be_to_cpu_32(to.tcp->sent_seq) + seq_len(to);

	*tcp = (struct rte_tcp_hdr){
		.src_port = to.tcp->dst_port,
		.dst_port = to.tcp->src_port,
		.sent_seq = acked ? to.tcp->recv_ack : 0,
		.recv_ack = acked ? 0 : rte_cpu_to_be_32(next),
		.data_off = sizeof(*tcp) / 4 << 4,
		.tcp_flags = acked ? RTE_TCP_RST_FLAG : RTE_TCP_RST_FLAG | RTE_TCP_ACK_FLAG,
	};
}

bool tcp_reset_allowed(const struct rte_ipv4_hdr *about)
{
	return about->next_proto_id == IPPROTO_TCP && !ipv4_is_fragment(about) &&
	       may_be_reset(segment_v4(about));
}

uint16_t tcp_reset_build(uint8_t *out, const struct rte_ipv4_hdr *about)
{
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)out;
	struct rte_tcp_hdr *tcp = (struct rte_tcp_hdr *)(ip + 1);

	*ip = (struct rte_ipv4_hdr){
		.version_ihl = RTE_IPV4_VHL_DEF,
		.total_length = rte_cpu_to_be_16(sizeof(*ip) + sizeof(*tcp)),
		.fragment_offset = IPV4_OFFSET_DF,
		.time_to_live = OWN_TTL,
		.next_proto_id = IPPROTO_TCP,
		.src_addr = about->dst_addr,
		.dst_addr = about->src_addr,
	};
	reset_write(tcp, segment_v4(about));
	tcp->cksum = rte_ipv4_udptcp_cksum(ip, tcp);
	ipv4_checksum_set(ip);
	return sizeof(*ip) + sizeof(*tcp);
}

bool tcp_reset_allowed_v6(const struct rte_ipv6_hdr *about)
{
	struct ipv6_upper upper;

	return ipv6_upper_find(&upper, about, ipv6_len(about)) == IPV6_GOOD &&
	       upper.proto == IPPROTO_TCP && !upper.fragment &&
	       may_be_reset(segment_v6(about, &upper));
}

uint16_t tcp_reset_build_v6(uint8_t *out, const struct rte_ipv6_hdr *about)
{
	struct rte_ipv6_hdr *ip = (struct rte_ipv6_hdr *)out;
	struct rte_tcp_hdr *tcp = (struct rte_tcp_hdr *)(ip + 1);
	struct ip_addr src = ipv6_dst(about), dst = ipv6_src(about);
	struct ipv6_upper upper;

	ipv6_upper_find(&upper, about, ipv6_len(about));
	*ip = (struct rte_ipv6_hdr){
		.vtc_flow = RTE_BE32(6u << 28),
		.payload_len = RTE_BE16(sizeof(*tcp)),
		.proto = IPPROTO_TCP,
		.hop_limits = OWN_TTL,
	};
	ipv6_src_set(ip, &src);
	ipv6_dst_set(ip, &dst);
	reset_write(tcp, segment_v6(about, &upper));
	tcp->cksum = ipv6_checksum(ip, IPPROTO_TCP, tcp, sizeof(*tcp));
	return sizeof(*ip) + sizeof(*tcp);
}
