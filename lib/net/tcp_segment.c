// SPDX-License-Identifier: BSD-3-Clause
#include "tcp_segment.h"

#include <rte_tcp.h>

#include "l4_checksum.h"

uint16_t tcp_segment_headers(const void *ip, const struct ip_layout *at)
{
	const struct rte_tcp_hdr *tcp = RTE_PTR_ADD(ip, at->l4_off);
	uint16_t len;

	if (!ip_layout_has(at, ip, IPPROTO_TCP, sizeof(*tcp)))
		return 0;
	len = (uint16_t)((tcp->data_off >> 4) * 4);
	if (len < sizeof(*tcp) || (tcp->tcp_flags & (RTE_TCP_SYN_FLAG | RTE_TCP_RST_FLAG)) != 0)
		return 0;
	len = (uint16_t)(at->l4_off + len);
	return len < ip_len(ip, at->v4) ? len : 0;
}

// RFC 3168 6.1.2: CWR is about the window, so that the first part tells it. FIN and PSH are about
// the end of the payload.
static uint8_t part_flags(uint8_t flags, const struct tcp_part *part)
{
	if (part->number > 0)
		flags &= (uint8_t)~RTE_TCP_CWR_FLAG;
	if (!part->last)
		flags &= (uint8_t) ~(RTE_TCP_FIN_FLAG | RTE_TCP_PSH_FLAG);
	return flags;
}

// The sender has reserved an identification for each part.
static void ipv4_finish(struct rte_ipv4_hdr *ip, const struct tcp_part *part)
{
	ip->total_length = rte_cpu_to_be_16((uint16_t)part->len);
	ip->packet_id =
		rte_cpu_to_be_16((uint16_t)(rte_be_to_cpu_16(ip->packet_id) + part->number));
	ipv4_checksum_set(ip);
}

void tcp_segment_finish(void *ip, const struct ip_layout *at, const struct tcp_part *part)
{
	struct rte_tcp_hdr *tcp = RTE_PTR_ADD(ip, at->l4_off);
	struct rte_ipv6_hdr *six = ip;

	if (at->v4)
		ipv4_finish(ip, part);
	else
		six->payload_len = rte_cpu_to_be_16((uint16_t)(part->len - sizeof(*six)));
	tcp->sent_seq = rte_cpu_to_be_32(rte_be_to_cpu_32(tcp->sent_seq) + part->off);
	tcp->tcp_flags = part_flags(tcp->tcp_flags, part);
	l4_checksum_recompute(ip);
}
