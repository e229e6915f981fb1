// SPDX-License-Identifier: BSD-3-Clause
// What policies and rules have in common as rte_acl sees them: contexts for each family, fields of
// addresses and ports, and their values. Pure functions; the control thread makes lists of them,
// workers look up with acl_family(), acl_sender_port() and acl_receiver_port().
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_acl.h>

#include "addr.h"
#include "ip_view.h"

#define ACL_PORT_OPAQUE 0x10000 // no port, or not to be seen: fragments (RFC 4301 4.4.1.1)

// The end that an ICMP message goes to. The end that sends it has its type and code as a port, type
// in the upper octet (RFC 4301 4.4.1.1): a policy may let either end send what the other may not, a
// rule looks at the sender alone.
#define ACL_PORT_RECEIVER 0x10001

#define ACL_FAMILIES 2

// An address of IPv6 takes four fields where one of IPv4 takes one. What is behind source and
// destination has numbers larger by so much.
#define ACL_MORE_V6 6

// The number of a family's context.
static inline unsigned int acl_family(enum ip_family family)
{
	return family == IP_V6;
}

// A port of a packet as a key has it.
static inline rte_be32_t acl_port(const struct ip_view *packet, rte_be16_t port)
{
	return packet->has_ports ? rte_cpu_to_be_32(rte_be_to_cpu_16(port))
				 : RTE_BE32(ACL_PORT_OPAQUE);
}

static inline bool acl_is_icmp(uint16_t proto)
{
	return proto == IPPROTO_ICMP || proto == IPPROTO_ICMPV6;
}

// The same of the end that sends the packet, whose ICMP type and code count as its port.
static inline rte_be32_t acl_sender_port(const struct ip_view *packet)
{
	if (!acl_is_icmp(packet->proto))
		return acl_port(packet, packet->src_port);
	return packet->has_icmp_type
		       ? rte_cpu_to_be_32((uint32_t)packet->icmp_type << 8 | packet->icmp_code)
		       : RTE_BE32(ACL_PORT_OPAQUE);
}

static inline rte_be32_t acl_receiver_port(const struct ip_view *packet)
{
	return acl_is_icmp(packet->proto) ? RTE_BE32(ACL_PORT_RECEIVER)
					  : acl_port(packet, packet->dst_port);
}

// Inclusive, host byte order. 0 to ACL_PORT_OPAQUE matches everything.
struct acl_port_range {
	uint32_t min, max;
};

// No restriction of ports lets packets match that show none.
static inline struct acl_port_range acl_port_range(uint16_t min, uint16_t max)
{
	bool any = min == 0 && max == UINT16_MAX;

	return (struct acl_port_range){min, any ? ACL_PORT_OPAQUE : max};
}

static inline bool acl_prefix_speaks(const struct ip_prefix *p, enum ip_family family)
{
	return p->len == 0 || ip_addr_family(&p->addr) == family;
}

// Whether packets of a family can be meant: by what is said of the family itself, and by both
// prefixes, each of which is of one family, or that of everything.
static inline bool acl_speaks(enum ip_family meant, const struct ip_prefix *a,
	const struct ip_prefix *b, enum ip_family family)
{
	return (meant == IP_ANY || meant == family) && acl_prefix_speaks(a, family) &&
	       acl_prefix_speaks(b, family);
}

// RTE_ACL_FIELD_TYPE_MASK, 4 octets.
static inline struct rte_acl_field acl_prefix_v4(const struct ip_prefix *p)
{
	if (p->len < IP_V4_BITS)
		return (struct rte_acl_field){.value.u32 = 0, .mask_range.u32 = 0};
	return (struct rte_acl_field){
		.value.u32 = rte_be_to_cpu_32(ip_addr_v4(&p->addr)),
		.mask_range.u32 = p->len - (uint32_t)IP_V4_BITS,
	};
}

// Four times RTE_ACL_FIELD_TYPE_MASK, 4 octets.
static inline void acl_prefix_v6(struct rte_acl_field field[4], const struct ip_prefix *p)
{
	for (int i = 0; i < 4; i++) {
		int bits = p->len - 32 * i;

		field[i].value.u32 = rte_be_to_cpu_32(p->addr.w[i]);
		field[i].mask_range.u32 = (uint32_t)RTE_MIN(RTE_MAX(bits, 0), 32);
	}
}

// The fields of two addresses, one behind the other. Returns where, in a list of fields for IPv4,
// the others of this family are.
static inline struct rte_acl_field *acl_prefixes(struct rte_acl_field field[], unsigned int first,
	const struct ip_prefix *a, const struct ip_prefix *b, enum ip_family family)
{
	if (family == IP_V4) {
		field[first] = acl_prefix_v4(a);
		field[first + 1] = acl_prefix_v4(b);
		return field;
	}
	acl_prefix_v6(&field[first], a);
	acl_prefix_v6(&field[first + 4], b);
	return field + ACL_MORE_V6;
}

// RTE_ACL_FIELD_TYPE_RANGE, 4 octets. Above ACL_PORT_OPAQUE there is nothing, but only of a range
// up to the last number rte_acl sees that it is all, and leaves a field that is all in every rule
// out.
static inline struct rte_acl_field acl_ports(const struct acl_port_range *r)
{
	return (struct rte_acl_field){.value.u32 = r->min,
		.mask_range.u32 = r->max == ACL_PORT_OPAQUE ? UINT32_MAX : r->max};
}

// RTE_ACL_FIELD_TYPE_BITMASK, 1 octet: this value, or any.
static inline struct rte_acl_field acl_octet(bool any, uint8_t value)
{
	return (struct rte_acl_field){.value.u8 = any ? 0 : value, .mask_range.u8 = any ? 0 : 0xff};
}

// RTE_ACL_FIELD_TYPE_BITMASK, 4 octets: this value, or any.
static inline struct rte_acl_field acl_word(bool any, uint32_t value)
{
	return (struct rte_acl_field){
		.value.u32 = any ? 0 : value, .mask_range.u32 = any ? 0 : UINT32_MAX};
}
