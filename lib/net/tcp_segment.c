// SPDX-License-Identifier: BSD-3-Clause
#include "tcp_segment.h"

#include <rte_tcp.h>

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

// CWR is for the first part alone, since it is about the window of the sender (RFC 3168 6.1.2). FIN
// and PSH are about the end of the payload.
static uint8_t part_flags(uint8_t flags, const struct tcp_part *part)
{
	if (part->number > 0)
		flags &= (uint8_t)~RTE_TCP_CWR_FLAG;
	if (!part->last)
		flags &= (uint8_t) ~(RTE_TCP_FIN_FLAG | RTE_TCP_PSH_FLAG);
	return flags;
}

uint32_t tcp_segment_sum(const void *ip, const struct ip_layout *at, uint16_t headers)
{
	const struct rte_ipv4_hdr *four = ip;
	const struct rte_ipv6_hdr *six = ip;
	const struct rte_tcp_hdr *tcp = RTE_PTR_ADD(ip, at->l4_off);
	struct rte_tcp_hdr same = *tcp;
	uint32_t sum = RTE_BE16(IPPROTO_TCP);

	same.sent_seq = 0;
	same.data_off = same.tcp_flags = 0;
	same.cksum = 0;
	sum += at->v4 ? rte_raw_cksum(&four->src_addr, 2 * sizeof(four->src_addr))
		      : rte_raw_cksum(&six->src_addr, 2 * sizeof(six->src_addr));
	sum += rte_raw_cksum(&same, sizeof(same));
	return sum + rte_raw_cksum(tcp + 1, headers - at->l4_off - sizeof(*tcp));
}

// The sender has reserved an identification for each part. The checksum by RFC 1624 3: a load of
// the header would wait for the stores to it.
static void ipv4_finish(struct rte_ipv4_hdr *ip, const struct tcp_part *part)
{
	const rte_be16_t len = rte_cpu_to_be_16((uint16_t)part->len);
	const rte_be16_t id =
		rte_cpu_to_be_16((uint16_t)(rte_be_to_cpu_16(ip->packet_id) + part->number));
	const uint32_t sum = (uint16_t)~ip->hdr_checksum + (uint16_t)~ip->total_length + len +
			     (uint16_t)~ip->packet_id + id;

	ip->total_length = len;
	ip->packet_id = id;
	ip->hdr_checksum = (uint16_t)~__rte_raw_cksum_reduce(sum);
}

void tcp_segment_finish(void *ip, const struct ip_layout *at, const struct tcp_part *part)
{
	struct rte_tcp_hdr *tcp = RTE_PTR_ADD(ip, at->l4_off);
	struct rte_ipv6_hdr *six = ip;
	rte_be32_t seq;
	uint8_t flags;
	uint32_t sum;

	if (at->v4)
		ipv4_finish(ip, part);
	else
		six->payload_len = rte_cpu_to_be_16((uint16_t)(part->len - sizeof(*six)));
	seq = rte_cpu_to_be_32(rte_be_to_cpu_32(tcp->sent_seq) + part->off);
	flags = part_flags(tcp->tcp_flags, part);
	sum = part->sum + rte_cpu_to_be_16((uint16_t)(part->len - at->l4_off)) + (seq >> 16) +
	      (uint16_t)seq + rte_cpu_to_be_16((uint16_t)(tcp->data_off << 8 | flags));
	tcp->sent_seq = seq;
	tcp->tcp_flags = flags;
	tcp->cksum = (uint16_t)~__rte_raw_cksum_reduce(sum);
}
