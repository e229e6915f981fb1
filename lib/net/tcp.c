// SPDX-License-Identifier: BSD-3-Clause
#include "tcp.h"

#include <rte_tcp.h>

#define OWN_TTL 64

static const struct rte_tcp_hdr *tcp_at(const void *ip, const struct ip_layout *at)
{
	return (const void *)((const uint8_t *)ip + at->l4_off);
}

bool tcp_reset_allowed(const void *about, const struct ip_layout *at)
{
	return ip_layout_has(at, about, IPPROTO_TCP, sizeof(struct rte_tcp_hdr)) &&
	       (tcp_at(about, at)->tcp_flags & RTE_TCP_RST_FLAG) == 0;
}

// Octets of sequence space that the segment of len octets takes.
static uint32_t seq_len(const struct rte_tcp_hdr *tcp, uint32_t len)
{
	uint32_t header = (tcp->data_off >> 4) * 4u;
	uint32_t text = len > header ? len - header : 0;

	return text + ((tcp->tcp_flags & RTE_TCP_SYN_FLAG) != 0) +
	       ((tcp->tcp_flags & RTE_TCP_FIN_FLAG) != 0);
}

// All but the checksum.
static struct rte_tcp_hdr reset_to(const struct rte_tcp_hdr *to, uint32_t len)
{
	bool acked = (to->tcp_flags & RTE_TCP_ACK_FLAG) != 0;
	uint32_t next = rte_be_to_cpu_32(to->sent_seq) + seq_len(to, len);

	return (struct rte_tcp_hdr){
		.src_port = to->dst_port,
		.dst_port = to->src_port,
		.sent_seq = acked ? to->recv_ack : 0,
		.recv_ack = acked ? 0 : rte_cpu_to_be_32(next),
		.data_off = sizeof(*to) / 4 << 4,
		.tcp_flags = acked ? RTE_TCP_RST_FLAG : RTE_TCP_RST_FLAG | RTE_TCP_ACK_FLAG,
	};
}

static uint16_t build_v4(
	struct rte_ipv4_hdr *ip, const struct rte_ipv4_hdr *about, struct rte_tcp_hdr reset)
{
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
	*tcp = reset;
	tcp->cksum = rte_ipv4_udptcp_cksum(ip, tcp);
	ipv4_checksum_set(ip);
	return sizeof(*ip) + sizeof(*tcp);
}

static uint16_t build_v6(
	struct rte_ipv6_hdr *ip, const struct rte_ipv6_hdr *about, struct rte_tcp_hdr reset)
{
	struct rte_tcp_hdr *tcp = (struct rte_tcp_hdr *)(ip + 1);
	struct ip_addr src = ipv6_dst(about), dst = ipv6_src(about);

	*ip = (struct rte_ipv6_hdr){
		.vtc_flow = RTE_BE32(6u << 28),
		.payload_len = RTE_BE16(sizeof(*tcp)),
		.proto = IPPROTO_TCP,
		.hop_limits = OWN_TTL,
	};
	ipv6_src_set(ip, &src);
	ipv6_dst_set(ip, &dst);
	*tcp = reset;
	tcp->cksum = ipv6_checksum(ip, IPPROTO_TCP, tcp, sizeof(*tcp));
	return sizeof(*ip) + sizeof(*tcp);
}

uint16_t tcp_reset_build(uint8_t *out, const void *about, const struct ip_layout *at)
{
	struct rte_tcp_hdr reset = reset_to(tcp_at(about, at), ip_len(about, at->v4) - at->l4_off);

	return at->v4 ? build_v4((struct rte_ipv4_hdr *)out, about, reset)
		      : build_v6((struct rte_ipv6_hdr *)out, about, reset);
}
