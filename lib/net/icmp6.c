// SPDX-License-Identifier: BSD-3-Clause
#include "icmp6.h"

#include <string.h>

#include "ip_layout.h"

#define OWN_HOP_LIMIT 64

// Whether the packet is ICMP of a type that no error may be about. Where that cannot be seen, as in
// later fragments unless they say what they are of, it is taken to be.
static bool is_unspeakable(const struct rte_ipv6_hdr *ip, const struct ipv6_upper *upper)
{
	uint8_t type;

	if (upper->later)
		return !ip_proto_has_ports(upper->proto);
	if (upper->proto != IPPROTO_ICMPV6)
		return false;
	if (ipv6_len(ip) <= upper->off)
		return true;
	type = *((const uint8_t *)ip + upper->off);
	return icmp6_is_error(type) || type == ND_REDIRECT;
}

bool icmp6_error_allowed(const struct icmp6_error *error, const struct rte_ipv6_hdr *about)
{
	bool to_many_too =
		error->type == ICMP6_PACKET_TOO_BIG ||
		(error->type == ICMP6_PARAM_PROB && error->code == ICMP6_PARAMPROB_OPTION);
	struct ip_addr src = ipv6_src(about), dst = ipv6_dst(about);
	struct ipv6_upper upper;

	if (!ipv6_is_host_address(&src))
		return false;
	if (!ipv6_is_host_address(&dst) && !(to_many_too && dst.b[0] == 0xff))
		return false;
	// Extension headers that lead nowhere are what a parameter problem is about.
	if (ipv6_upper_find(&upper, about, ipv6_len(about)) != IPV6_GOOD)
		return error->type == ICMP6_PARAM_PROB;
	return !is_unspeakable(about, &upper);
}

uint16_t icmp6_error_build(uint8_t *out, struct icmp6_error error, const struct ip_addr *source,
	const struct rte_ipv6_hdr *about)
{
	struct rte_ipv6_hdr *ip = (struct rte_ipv6_hdr *)out;
	struct icmp6_head *icmp = (struct icmp6_head *)(ip + 1);
	uint32_t quoted =
		RTE_MIN(ipv6_len(about), (uint32_t)(ICMP6_ERROR_MAX - sizeof(*ip) - sizeof(*icmp)));
	uint16_t len = (uint16_t)(sizeof(*icmp) + quoted);
	struct ip_addr to = ipv6_src(about);

	ip_header_write(out, source, &to, IPPROTO_ICMPV6, len);
	*icmp = (struct icmp6_head){
		.type = error.type, .code = error.code, .param = rte_cpu_to_be_32(error.param)};
	memcpy(icmp + 1, about, quoted);
	icmp->cksum = ipv6_checksum(ip, IPPROTO_ICMPV6, icmp, len);
	return (uint16_t)(sizeof(*ip) + len);
}

uint16_t icmp6_echo_reply(struct rte_ipv6_hdr *ip, uint16_t l4_off, const struct ip_addr *source)
{
	struct icmp6_head *icmp = (struct icmp6_head *)(ip + 1);
	struct ip_addr asker = ipv6_src(ip);
	uint16_t len = (uint16_t)(ipv6_len(ip) - l4_off);

	memmove(icmp, (const uint8_t *)ip + l4_off, len);
	ip->vtc_flow &= ~RTE_BE32(RTE_IPV6_HDR_FL_MASK); // it labels the asker's packets
	ip->payload_len = rte_cpu_to_be_16(len);
	ip->proto = IPPROTO_ICMPV6;
	ip->hop_limits = OWN_HOP_LIMIT;
	ipv6_dst_set(ip, &asker);
	ipv6_src_set(ip, source);
	icmp->type = ICMP6_ECHO_REPLY;
	icmp->cksum = 0;
	icmp->cksum = ipv6_checksum(ip, IPPROTO_ICMPV6, icmp, len);
	return (uint16_t)(sizeof(*ip) + len);
}
