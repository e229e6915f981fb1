// SPDX-License-Identifier: BSD-3-Clause
#include "icmp.h"

#include <string.h>

#define OWN_TTL              64
#define TOS_INTERNET_CONTROL 0xc0 // precedence of errors (RFC 1812 4.3.2.5)

uint16_t icmp_checksum(const void *ip, const void *icmp, uint32_t len)
{
	return ip_is_v4(ip) ? (uint16_t)~rte_raw_cksum(icmp, len)
			    : ipv6_checksum(ip, IPPROTO_ICMPV6, icmp, len);
}

static bool is_query(uint8_t type)
{
	// echo, timestamp, address mask, information: requests and replies
	return type == 0 || type == 8 || (type >= 13 && type <= 18);
}

static bool allowed_v4(const struct rte_ipv4_hdr *about)
{
	const uint8_t *payload = (const uint8_t *)about + rte_ipv4_hdr_len(about);

	if ((about->fragment_offset & RTE_BE16(RTE_IPV4_HDR_OFFSET_MASK)) != 0)
		return false;
	if (!ipv4_is_host_address(about->src_addr) || !ipv4_is_host_address(about->dst_addr))
		return false;
	return about->next_proto_id != IPPROTO_ICMP ||
	       (ip_len(about, true) > rte_ipv4_hdr_len(about) && is_query(payload[0]));
}

// Whether the packet is, or may be, an ICMP error or redirect. A later fragment may be one, unless
// it names a protocol with ports; so may a packet that is too short to have a type.
static bool may_be_error(const struct rte_ipv6_hdr *ip, const struct ipv6_upper *upper)
{
	uint8_t type;

	if (upper->later)
		return !ip_proto_has_ports(upper->proto);
	if (upper->proto != IPPROTO_ICMPV6)
		return false;
	if (ipv6_len(ip) <= upper->off)
		return true;
	type = *((const uint8_t *)ip + upper->off);
	return icmp_is_error(type, false) || type == ND_REDIRECT;
}

static bool allowed_v6(const struct icmp_error *error, const struct rte_ipv6_hdr *about)
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
	// A parameter problem may be about extension headers that lead nowhere.
	if (ipv6_upper_find(&upper, about, ipv6_len(about)) != IPV6_GOOD)
		return error->type == ICMP6_PARAM_PROB;
	return !may_be_error(about, &upper);
}

bool icmp_error_allowed(const struct icmp_error *error, const void *about)
{
	return ip_is_v4(about) ? allowed_v4(about) : allowed_v6(error, about);
}

uint16_t icmp_error_build(uint8_t *out, struct icmp_error error, const struct ip_addr *source,
	rte_be16_t id, const void *about)
{
	bool v4 = ip_is_v4(about);
	uint16_t room = v4 ? ICMP_ERROR_MAX - sizeof(struct rte_ipv4_hdr)
			   : ICMP6_ERROR_MAX - sizeof(struct rte_ipv6_hdr);
	uint16_t len = (uint16_t)RTE_MIN(ip_len(about, v4) + sizeof(struct icmp_head), room);
	struct ip_addr to = ip_src(about, v4);
	uint16_t off = ip_header_write(out, source, &to, v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6, len);
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)out;
	struct icmp_head *icmp = (struct icmp_head *)(out + off);

	*icmp = (struct icmp_head){
		.type = error.type, .code = error.code, .param = rte_cpu_to_be_32(error.param)};
	memcpy(icmp + 1, about, len - sizeof(*icmp));
	icmp->cksum = icmp_checksum(out, icmp, len);
	if (v4) {
		ip->type_of_service = TOS_INTERNET_CONTROL;
		ip->packet_id = id;
		ipv4_checksum_set(ip);
	}
	return (uint16_t)(off + len);
}

static void reply_write(const void *ip, struct icmp_head *icmp, uint8_t type, uint16_t len)
{
	icmp->type = type;
	icmp->cksum = 0;
	icmp->cksum = icmp_checksum(ip, icmp, len);
}

void icmp_echo_reply(struct rte_ipv4_hdr *ip)
{
	uint8_t hdr_len = rte_ipv4_hdr_len(ip);
	rte_be32_t asked = ip->dst_addr;

	ip->dst_addr = ip->src_addr;
	ip->src_addr = asked;
	ip->time_to_live = OWN_TTL;
	ip->fragment_offset = 0;
	ipv4_checksum_set(ip);
	reply_write(ip, RTE_PTR_ADD(ip, hdr_len), ICMP_ECHO_REPLY,
		(uint16_t)(ip_len(ip, true) - hdr_len));
}

uint16_t icmp6_echo_reply(struct rte_ipv6_hdr *ip, uint16_t l4_off, const struct ip_addr *source)
{
	struct icmp_head *icmp = (struct icmp_head *)(ip + 1);
	struct ip_addr asker = ipv6_src(ip);
	uint16_t len = (uint16_t)(ipv6_len(ip) - l4_off);

	memmove(icmp, (const uint8_t *)ip + l4_off, len);
	ip->vtc_flow &= ~RTE_BE32(RTE_IPV6_HDR_FL_MASK); // it identifies the sender of the requests
	ip->payload_len = rte_cpu_to_be_16(len);
	ip->proto = IPPROTO_ICMPV6;
	ip->hop_limits = OWN_TTL;
	ipv6_dst_set(ip, &asker);
	ipv6_src_set(ip, source);
	reply_write(ip, icmp, ICMP6_ECHO_REPLY, len);
	return (uint16_t)(sizeof(*ip) + len);
}

uint16_t icmp_echo_build(uint8_t *out, const struct ip_addr *source,
	const struct ip_addr *destination, uint32_t echo, uint16_t data)
{
	bool v4 = ip_addr_is_v4(destination);
	uint16_t len = (uint16_t)(sizeof(struct icmp_head) + data);
	uint16_t off =
		ip_header_write(out, source, destination, v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6, len);
	struct icmp_head *icmp = (struct icmp_head *)(out + off);

	*icmp = (struct icmp_head){.type = v4 ? ICMP_ECHO_REQUEST : ICMP6_ECHO_REQUEST,
		.param = rte_cpu_to_be_32(echo)};
	for (uint16_t i = 0; i < data; i++)
		((uint8_t *)(icmp + 1))[i] = (uint8_t)i;
	icmp->cksum = icmp_checksum(out, icmp, len);
	return (uint16_t)(off + len);
}

static bool is_echo(const void *ip, const struct ip_layout *at, uint8_t type, uint8_t type6)
{
	return ip_layout_has(
		       at, ip, at->v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6, sizeof(struct icmp_head)) &&
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
