// SPDX-License-Identifier: BSD-3-Clause
#include "icmp_echo.h"

#include <netinet/in.h>
#include <string.h>

#include <rte_ip.h>

#include "icmp.h"
#include "icmp6.h"

#define TTL      64
#define ECHO_LEN 8

static uint16_t build_v4(struct rte_ipv4_hdr *ip, const struct ip_addr *source,
	const struct ip_addr *destination, struct rte_icmp_hdr icmp)
{
	struct rte_icmp_hdr *to = (struct rte_icmp_hdr *)(ip + 1);

	*ip = (struct rte_ipv4_hdr){
		.version_ihl = RTE_IPV4_VHL_DEF,
		.total_length = rte_cpu_to_be_16(sizeof(*ip) + ECHO_LEN),
		.time_to_live = TTL,
		.next_proto_id = IPPROTO_ICMP,
		.src_addr = ip_addr_v4(source),
		.dst_addr = ip_addr_v4(destination),
	};
	ipv4_checksum_set(ip);
	icmp.icmp_type = ICMP_ECHO_REQUEST;
	icmp.icmp_cksum = (uint16_t)~rte_raw_cksum(&icmp, ECHO_LEN);
	memcpy(to, &icmp, ECHO_LEN);
	return sizeof(*ip) + ECHO_LEN;
}

static uint16_t build_v6(struct rte_ipv6_hdr *ip, const struct ip_addr *source,
	const struct ip_addr *destination, struct rte_icmp_hdr icmp)
{
	*ip = (struct rte_ipv6_hdr){
		.vtc_flow = RTE_BE32(6u << 28),
		.payload_len = RTE_BE16(ECHO_LEN),
		.proto = IPPROTO_ICMPV6,
		.hop_limits = TTL,
	};
	ipv6_src_set(ip, source);
	ipv6_dst_set(ip, destination);
	icmp.icmp_type = ICMP6_ECHO_REQUEST;
	memcpy(ip + 1, &icmp, ECHO_LEN);
	icmp.icmp_cksum = ipv6_checksum(ip, IPPROTO_ICMPV6, ip + 1, ECHO_LEN);
	memcpy(ip + 1, &icmp, ECHO_LEN);
	return sizeof(*ip) + ECHO_LEN;
}

uint16_t icmp_echo_build(uint8_t *out, const struct ip_addr *source,
	const struct ip_addr *destination, uint16_t id, uint16_t seq)
{
	struct rte_icmp_hdr icmp = {
		.icmp_ident = rte_cpu_to_be_16(id), .icmp_seq_nb = rte_cpu_to_be_16(seq)};

	static_assert(sizeof(icmp) == ECHO_LEN, "without data");
	return ip_addr_is_v4(destination)
		       ? build_v4((struct rte_ipv4_hdr *)out, source, destination, icmp)
		       : build_v6((struct rte_ipv6_hdr *)out, source, destination, icmp);
}

static bool is_echo(const void *ip, const struct ip_layout *at, uint8_t type, uint8_t type6)
{
	return ip_layout_has(at, ip, at->v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6, ECHO_LEN) &&
	       at->icmp_type == (at->v4 ? type : type6);
}

bool icmp_echo_is_request(const void *ip, const struct ip_layout *at)
{
	const uint8_t *icmp = (const uint8_t *)ip + at->l4_off;
	uint32_t len = ip_len(ip, at->v4) - at->l4_off;

	if (!is_echo(ip, at, ICMP_ECHO_REQUEST, ICMP6_ECHO_REQUEST) || at->icmp_code != 0)
		return false;
	return at->v4 ? rte_raw_cksum(icmp, len) == 0xffff
		      : ipv6_checksum(ip, IPPROTO_ICMPV6, icmp, len) == 0;
}

bool icmp_echo_is_reply(const void *ip, const struct ip_layout *at)
{
	return is_echo(ip, at, ICMP_ECHO_REPLY, ICMP6_ECHO_REPLY);
}
