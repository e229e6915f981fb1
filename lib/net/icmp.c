// SPDX-License-Identifier: BSD-3-Clause
#include "icmp.h"

#include <string.h>

#include "ipv4.h"

#define ICMP_HDR_LEN         8
#define OWN_TTL              64
#define TOS_INTERNET_CONTROL 0xc0 // precedence of errors (RFC 1812 4.3.2.5)

static struct rte_icmp_hdr *icmp_of(struct rte_ipv4_hdr *ip)
{
	return (struct rte_icmp_hdr *)((uint8_t *)ip + rte_ipv4_hdr_len(ip));
}

static bool is_query(uint8_t type)
{
	// echo, timestamp, address mask, information: requests and replies
	return type == 0 || type == 8 || (type >= 13 && type <= 18);
}

bool icmp_error_allowed(const struct rte_ipv4_hdr *about)
{
	const uint8_t *payload = (const uint8_t *)about + rte_ipv4_hdr_len(about);
	uint16_t len = (uint16_t)(rte_be_to_cpu_16(about->total_length) - rte_ipv4_hdr_len(about));

	if ((about->fragment_offset & RTE_BE16(RTE_IPV4_HDR_OFFSET_MASK)) != 0)
		return false;
	if (!ipv4_is_host_address(about->src_addr) || !ipv4_is_host_address(about->dst_addr))
		return false;
	return about->next_proto_id != IPPROTO_ICMP || (len > 0 && is_query(payload[0]));
}

uint16_t icmp_error_build(uint8_t *out, struct icmp_error error, rte_be32_t source, rte_be16_t id,
	const struct rte_ipv4_hdr *about)
{
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)out;
	uint16_t hdr_len = sizeof(*ip) + ICMP_HDR_LEN;
	uint16_t quoted = rte_be_to_cpu_16(about->total_length);

	if (quoted > ICMP_ERROR_MAX - hdr_len)
		quoted = (uint16_t)(ICMP_ERROR_MAX - hdr_len);
	*ip = (struct rte_ipv4_hdr){
		.version_ihl = RTE_IPV4_VHL_DEF,
		.type_of_service = TOS_INTERNET_CONTROL,
		.total_length = rte_cpu_to_be_16((uint16_t)(hdr_len + quoted)),
		.packet_id = id,
		.time_to_live = OWN_TTL,
		.next_proto_id = IPPROTO_ICMP,
		.src_addr = source,
		.dst_addr = about->src_addr,
	};
	ipv4_checksum_set(ip);

	struct rte_icmp_hdr *icmp = icmp_of(ip);

	*icmp = (struct rte_icmp_hdr){
		.icmp_type = error.type,
		.icmp_code = error.code,
		.icmp_seq_nb = rte_cpu_to_be_16(error.mtu), // RFC 1191 4
	};
	memcpy(out + hdr_len, about, quoted);
	icmp->icmp_cksum = (uint16_t)~rte_raw_cksum(icmp, (size_t)ICMP_HDR_LEN + quoted);
	return (uint16_t)(hdr_len + quoted);
}

void icmp_echo_reply(struct rte_ipv4_hdr *ip)
{
	struct rte_icmp_hdr *icmp = icmp_of(ip);
	uint16_t len = (uint16_t)(rte_be_to_cpu_16(ip->total_length) - rte_ipv4_hdr_len(ip));
	rte_be32_t asked = ip->dst_addr;

	ip->dst_addr = ip->src_addr;
	ip->src_addr = asked;
	ip->time_to_live = OWN_TTL;
	ip->fragment_offset = 0;
	ipv4_checksum_set(ip);
	icmp->icmp_type = ICMP_ECHO_REPLY;
	icmp->icmp_cksum = 0;
	icmp->icmp_cksum = (uint16_t)~rte_raw_cksum(icmp, len);
}
