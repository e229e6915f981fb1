// SPDX-License-Identifier: BSD-3-Clause
#include "nd.h"

#include <assert.h>
#include <string.h>

#include "ip_layout.h"

#define HOP_LIMIT   255 // no forwarded packet has it
#define OPTION_UNIT 8   // octets: the unit of lengths of options

// A neighbour solicitation or advertisement, up to its options. Their flags are the first three
// bits after the checksum.
struct neighbour {
	struct icmp_head head;
	uint8_t target[16];
} __rte_packed;

static_assert(sizeof(struct rte_ether_hdr) + sizeof(struct rte_ipv6_hdr) +
			      sizeof(struct neighbour) + OPTION_UNIT ==
		      ND_FRAME_LEN,
	"with one option");

static const struct ip_addr all_nodes = {.b = {0xff, 0x02, [15] = 1}};

struct ip_addr nd_solicited_node(const struct ip_addr *addr)
{
	struct ip_addr group = {.b = {0xff, 0x02, [11] = 1, [12] = 0xff}};

	memcpy(group.b + 13, addr->b + 13, 3);
	return group;
}

struct rte_ether_addr nd_group_mac(const struct ip_addr *group)
{
	struct rte_ether_addr mac = {{0x33, 0x33}};

	memcpy(mac.addr_bytes + 2, group->b + 12, 4);
	return mac;
}

struct ip_addr nd_link_local(const struct rte_ether_addr *mac)
{
	const uint8_t *m = mac->addr_bytes;

	return (struct ip_addr){
		.b = {0xfe, 0x80, [8] = m[0] ^ 2, m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5]}};
}

// The link address in the option of this type. False if any option is malformed.
static bool read_options(
	struct nd_message *m, uint8_t type, const uint8_t *option, const uint8_t *end)
{
	while (option < end) {
		if (end - option < OPTION_UNIT || option[1] == 0 ||
			option[1] * OPTION_UNIT > end - option)
			return false;
		if (option[0] == type && option[1] == 1) {
			memcpy(&m->mac, option + 2, sizeof(m->mac));
			m->has_mac = true;
		}
		option += option[1] * OPTION_UNIT;
	}
	return !m->has_mac || rte_is_valid_assigned_ether_addr(&m->mac);
}

// RFC 4861 6.1.1
static enum nd_fault read_router_solicitation(
	struct nd_message *m, const struct icmp_head *rs, uint32_t len)
{
	const uint8_t *start = (const uint8_t *)rs;

	m->kind = ND_ROUTER_SOLICITATION;
	if (len < sizeof(*rs) ||
		!read_options(m, ND_OPT_SOURCE_LINKADDR, start + sizeof(*rs), start + len))
		return ND_MALFORMED;
	return ip_addr_is_none(&m->source) && m->has_mac ? ND_MALFORMED : ND_GOOD;
}

// RFC 4861 7.1.1
static enum nd_fault read_solicitation(
	struct nd_message *m, const struct ip_addr *dst, const struct neighbour *ns, uint32_t len)
{
	const uint8_t *start = (const uint8_t *)ns;
	struct ip_addr group;

	m->kind = ND_SOLICITATION;
	if (len < sizeof(*ns) ||
		!read_options(m, ND_OPT_SOURCE_LINKADDR, start + sizeof(*ns), start + len))
		return ND_MALFORMED;
	m->target = ipv6_addr(ns->target);
	group = nd_solicited_node(&m->target);
	if (ip_addr_is_none(&m->source) && (m->has_mac || !ip_addr_equal(dst, &group)))
		return ND_MALFORMED;
	return ND_GOOD;
}

// RFC 4861 7.1.2
static enum nd_fault read_advertisement(
	struct nd_message *m, const struct ip_addr *dst, const struct neighbour *na, uint32_t len)
{
	const uint8_t *start = (const uint8_t *)na;

	m->kind = ND_ADVERTISEMENT;
	if (len < sizeof(*na) ||
		!read_options(m, ND_OPT_TARGET_LINKADDR, start + sizeof(*na), start + len))
		return ND_MALFORMED;
	m->target = ipv6_addr(na->target);
	m->router = (na->head.param & ND_NA_FLAG_ROUTER) != 0;
	m->solicited = (na->head.param & ND_NA_FLAG_SOLICITED) != 0;
	m->override = (na->head.param & ND_NA_FLAG_OVERRIDE) != 0;
	return dst->b[0] == 0xff && m->solicited ? ND_MALFORMED : ND_GOOD;
}

static enum nd_fault read_body(
	struct nd_message *m, const struct ip_addr *dst, const struct icmp_head *icmp, uint32_t len)
{
	switch (icmp->type) {
	case ND_ROUTER_SOLICIT:
		return read_router_solicitation(m, (const void *)icmp, len);
	case ND_NEIGHBOR_SOLICIT:
		return read_solicitation(m, dst, (const void *)icmp, len);
	default:
		return read_advertisement(m, dst, (const void *)icmp, len);
	}
}

static bool is_kind(uint8_t type)
{
	return type == ND_ROUTER_SOLICIT || type == ND_NEIGHBOR_SOLICIT ||
	       type == ND_NEIGHBOR_ADVERT;
}

enum nd_fault nd_read(struct nd_message *m, const struct rte_ipv6_hdr *ip)
{
	uint32_t len = ipv6_len(ip);
	struct ip_addr dst = ipv6_dst(ip);
	struct ipv6_upper upper;
	enum nd_fault fault;

	if (ipv6_upper_find(&upper, ip, len) != IPV6_GOOD || upper.proto != IPPROTO_ICMPV6 ||
		upper.later || len < upper.off + sizeof(struct icmp_head))
		return ND_NOT_OURS;

	const struct icmp_head *icmp = (const void *)((const uint8_t *)ip + upper.off);

	if (!is_kind(icmp->type))
		return ND_NOT_OURS;
	if (ip->hop_limits != HOP_LIMIT)
		return ND_FORWARDED;
	if (upper.frag_off != 0)
		return ND_FRAGMENTED;
	if (ipv6_checksum(ip, IPPROTO_ICMPV6, icmp, len - upper.off) != 0)
		return ND_CHECKSUM;
	*m = (struct nd_message){.source = ipv6_src(ip)};
	fault = icmp->code == 0 ? read_body(m, &dst, icmp, len - upper.off) : ND_MALFORMED;
	// No host has a multicast address, and a receiver would mistake a mapped one for an IPv4
	// address.
	if (fault == ND_GOOD && (m->target.b[0] == 0xff || ip_addr_is_v4(&m->target)))
		return ND_MALFORMED;
	return fault;
}

// A frame around the message of len octets, which follows the headers.
static uint16_t headers_build(uint8_t *out, const struct rte_ether_addr *mac,
	const struct rte_ether_addr *to, const struct ip_addr *src, const struct ip_addr *dst,
	size_t len)
{
	struct rte_ether_hdr *eth = (struct rte_ether_hdr *)out;
	struct rte_ipv6_hdr *ip = (struct rte_ipv6_hdr *)(eth + 1);
	struct icmp_head *icmp = (struct icmp_head *)(ip + 1);

	*eth = (struct rte_ether_hdr){
		.dst_addr = *to, .src_addr = *mac, .ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV6)};
	ip_header_write((uint8_t *)ip, src, dst, IPPROTO_ICMPV6, (uint16_t)len);
	ip->hop_limits = HOP_LIMIT;
	icmp->cksum = ipv6_checksum(ip, IPPROTO_ICMPV6, icmp, (uint32_t)len);
	return (uint16_t)(sizeof(*eth) + sizeof(*ip) + len);
}

static void *message_at(uint8_t *out)
{
	return out + sizeof(struct rte_ether_hdr) + sizeof(struct rte_ipv6_hdr);
}

static size_t option_write(void *at, uint8_t type, const struct rte_ether_addr *mac)
{
	uint8_t *option = at;

	option[0] = type;
	option[1] = 1;
	memcpy(option + 2, mac, sizeof(*mac));
	return OPTION_UNIT;
}

uint16_t nd_solicitation_build(uint8_t *out, const struct rte_ether_addr *mac,
	const struct ip_addr *sender, const struct ip_addr *target, const struct rte_ether_addr *to)
{
	struct neighbour *ns = message_at(out);
	struct ip_addr group = nd_solicited_node(target);
	struct rte_ether_addr group_mac = nd_group_mac(&group);
	size_t len = sizeof(*ns);

	*ns = (struct neighbour){.head.type = ND_NEIGHBOR_SOLICIT};
	memcpy(ns->target, target, sizeof(ns->target));
	if (!ip_addr_is_none(sender))
		len += option_write(ns + 1, ND_OPT_SOURCE_LINKADDR, mac);
	return headers_build(
		out, mac, to != NULL ? to : &group_mac, sender, to != NULL ? target : &group, len);
}

static uint16_t advertisement_build(uint8_t *out, const struct rte_ether_addr *mac,
	const struct ip_addr *sender, const struct ip_addr *addr, uint32_t flags,
	const struct ip_addr *dst, const struct rte_ether_addr *to)
{
	struct neighbour *na = message_at(out);

	*na = (struct neighbour){
		.head = {.type = ND_NEIGHBOR_ADVERT, .param = ND_NA_FLAG_ROUTER | flags}};
	memcpy(na->target, addr, sizeof(na->target));
	return headers_build(out, mac, to, sender, dst,
		sizeof(*na) + option_write(na + 1, ND_OPT_TARGET_LINKADDR, mac));
}

uint16_t nd_answer_build(uint8_t *out, const struct rte_ether_addr *mac,
	const struct nd_message *asked, const struct rte_ether_addr *from)
{
	// The reply to a sender without an address goes to all nodes (RFC 4861 7.2.4).
	if (ip_addr_is_none(&asked->source))
		return nd_announcement_build(out, mac, &asked->target);
	return advertisement_build(out, mac, &asked->target, &asked->target,
		ND_NA_FLAG_SOLICITED | ND_NA_FLAG_OVERRIDE, &asked->source,
		asked->has_mac ? &asked->mac : from);
}

uint16_t nd_anycast_answer_build(uint8_t *out, const struct rte_ether_addr *mac,
	const struct ip_addr *own, const struct nd_message *asked,
	const struct rte_ether_addr *from)
{
	return advertisement_build(out, mac, own, &asked->target, ND_NA_FLAG_SOLICITED,
		&asked->source, asked->has_mac ? &asked->mac : from);
}

uint16_t nd_announcement_build(
	uint8_t *out, const struct rte_ether_addr *mac, const struct ip_addr *addr)
{
	struct rte_ether_addr to = nd_group_mac(&all_nodes);

	return advertisement_build(out, mac, addr, addr, ND_NA_FLAG_OVERRIDE, &all_nodes, &to);
}
