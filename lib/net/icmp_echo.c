// SPDX-License-Identifier: BSD-3-Clause
#include "icmp_echo.h"

#include <netinet/in.h>
#include <string.h>

#include <rte_icmp.h>

#include "icmp.h"

#define ECHO_LEN 8

uint16_t icmp_echo_build(uint8_t *out, const struct ip_addr *source,
	const struct ip_addr *destination, uint16_t id, uint16_t seq)
{
	bool v4 = ip_addr_is_v4(destination);
	uint16_t off = ip_header_write(
		out, source, destination, v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6, ECHO_LEN);
	struct rte_icmp_hdr *icmp = (struct rte_icmp_hdr *)(out + off);

	*icmp = (struct rte_icmp_hdr){
		.icmp_type = v4 ? ICMP_ECHO_REQUEST : ICMP6_ECHO_REQUEST,
		.icmp_ident = rte_cpu_to_be_16(id),
		.icmp_seq_nb = rte_cpu_to_be_16(seq),
	};
	static_assert(sizeof(*icmp) == ECHO_LEN, "without data");
	icmp->icmp_cksum = icmp_checksum(out, icmp, ECHO_LEN);
	return (uint16_t)(off + ECHO_LEN);
}

static bool is_echo(const void *ip, const struct ip_layout *at, uint8_t type, uint8_t type6)
{
	return ip_layout_has(at, ip, at->v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6, ECHO_LEN) &&
	       at->icmp_type == (at->v4 ? type : type6);
}

bool icmp_echo_is_request(const void *ip, const struct ip_layout *at)
{
	return is_echo(ip, at, ICMP_ECHO_REQUEST, ICMP6_ECHO_REQUEST) && at->icmp_code == 0 &&
	       icmp_checksum(
		       ip, (const uint8_t *)ip + at->l4_off, ip_len(ip, at->v4) - at->l4_off) == 0;
}

bool icmp_echo_is_reply(const void *ip, const struct ip_layout *at)
{
	return is_echo(ip, at, ICMP_ECHO_REPLY, ICMP6_ECHO_REPLY);
}
