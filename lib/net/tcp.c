// SPDX-License-Identifier: BSD-3-Clause
#include "tcp.h"

#include <rte_tcp.h>

#include "ipv4.h"

#define OWN_TTL 64

static const struct rte_tcp_hdr *tcp_of(const struct rte_ipv4_hdr *ip)
{
	return (const struct rte_tcp_hdr *)((const uint8_t *)ip + rte_ipv4_hdr_len(ip));
}

static uint16_t tcp_len(const struct rte_ipv4_hdr *ip)
{
	return (uint16_t)(rte_be_to_cpu_16(ip->total_length) - rte_ipv4_hdr_len(ip));
}

bool tcp_reset_allowed(const struct rte_ipv4_hdr *about)
{
	return about->next_proto_id == IPPROTO_TCP && !ipv4_is_fragment(about) &&
	       tcp_len(about) >= sizeof(struct rte_tcp_hdr) &&
	       (tcp_of(about)->tcp_flags & RTE_TCP_RST_FLAG) == 0;
}

// Octets of sequence space that the packet takes.
static uint32_t seq_len(const struct rte_ipv4_hdr *ip)
{
	const struct rte_tcp_hdr *tcp = tcp_of(ip);
	uint32_t header = (tcp->data_off >> 4) * 4u;
	uint32_t text = tcp_len(ip) > header ? tcp_len(ip) - header : 0;

	return text + ((tcp->tcp_flags & RTE_TCP_SYN_FLAG) != 0) +
	       ((tcp->tcp_flags & RTE_TCP_FIN_FLAG) != 0);
}

uint16_t tcp_reset_build(uint8_t *out, const struct rte_ipv4_hdr *about)
{
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)out;
	struct rte_tcp_hdr *tcp = (struct rte_tcp_hdr *)(ip + 1);
	const struct rte_tcp_hdr *to = tcp_of(about);
	bool acked = (to->tcp_flags & RTE_TCP_ACK_FLAG) != 0;
	uint32_t next = rte_be_to_cpu_32(to->sent_seq) + seq_len(about);

	*ip = (struct rte_ipv4_hdr){
		.version_ihl = RTE_IPV4_VHL_DEF,
		.total_length = rte_cpu_to_be_16(sizeof(*ip) + sizeof(*tcp)),
		.fragment_offset = IPV4_OFFSET_DF,
		.time_to_live = OWN_TTL,
		.next_proto_id = IPPROTO_TCP,
		.src_addr = about->dst_addr,
		.dst_addr = about->src_addr,
	};
	*tcp = (struct rte_tcp_hdr){
		.src_port = to->dst_port,
		.dst_port = to->src_port,
		.sent_seq = acked ? to->recv_ack : 0,
		.recv_ack = acked ? 0 : rte_cpu_to_be_32(next),
		.data_off = sizeof(*tcp) / 4 << 4,
		.tcp_flags = acked ? RTE_TCP_RST_FLAG : RTE_TCP_RST_FLAG | RTE_TCP_ACK_FLAG,
	};
	tcp->cksum = rte_ipv4_udptcp_cksum(ip, tcp);
	ipv4_checksum_set(ip);
	return sizeof(*ip) + sizeof(*tcp);
}
