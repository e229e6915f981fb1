// SPDX-License-Identifier: BSD-3-Clause
#include "tcp.h"

#include <rte_tcp.h>

#include "l4_checksum.h"

static const struct rte_tcp_hdr *tcp_at(const void *ip, const struct ip_layout *at)
{
	return (const void *)((const uint8_t *)ip + at->l4_off);
}

bool tcp_reset_allowed(const void *about, const struct ip_layout *at)
{
	return ip_layout_has(at, about, IPPROTO_TCP, sizeof(struct rte_tcp_hdr)) &&
	       (tcp_at(about, at)->tcp_flags & RTE_TCP_RST_FLAG) == 0;
}

// Length of a segment of len octets in sequence numbers.
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

uint16_t tcp_reset_build(uint8_t *out, const void *about, const struct ip_layout *at)
{
	const struct ip_addr src = ip_dst(about, at->v4), dst = ip_src(about, at->v4);
	uint16_t off = ip_header_write(out, &src, &dst, IPPROTO_TCP, sizeof(struct rte_tcp_hdr));
	struct rte_ipv4_hdr *four = (struct rte_ipv4_hdr *)out;

	*(struct rte_tcp_hdr *)(out + off) =
		reset_to(tcp_at(about, at), ip_len(about, at->v4) - at->l4_off);
	l4_checksum_recompute(out);
	if (at->v4) {
		four->fragment_offset = IPV4_OFFSET_DF;
		ipv4_checksum_set(four);
	}
	return (uint16_t)(off + sizeof(struct rte_tcp_hdr));
}
