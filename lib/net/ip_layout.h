// SPDX-License-Identifier: BSD-3-Clause
// Layout of an IP packet of either family: its headers are parsed once, and the result travels with
// the packet. Workers; pure functions on packet memory.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ipv4.h"
#include "ipv6.h"

struct ip_layout {
	uint16_t l4_off;   // octets from the IP header to the upper layer
	uint8_t proto;     // of the upper layer, after extension headers
	bool v4 : 1;       // family
	bool fragment : 1; // false for a whole packet with a fragment header
	union {            // the upper layer's first octets as far as they exist; 0 of a fragment
		struct {
			rte_be16_t src_port, dst_port; // if ip_proto_has_ports()
		};
		struct {
			uint8_t icmp_type, icmp_code; // of ICMP for either family
		};
		uint8_t l4[4];
	};
};

static_assert(sizeof(struct ip_layout) == 8, "copied as one word");

// Whether the packet is one of the family without options or extension headers, whole, with this
// protocol, by its first four octets. The upper layer may be truncated.
static inline bool ip_layout_is_plain(const struct ip_layout *at, uint8_t proto, const bool v4)
{
	const struct ip_layout plain = {
		.l4_off = v4 ? sizeof(struct rte_ipv4_hdr) : sizeof(struct rte_ipv6_hdr),
		.proto = proto,
		.v4 = v4};
	uint32_t a, b;

	memcpy(&a, at, sizeof(a));
	memcpy(&b, &plain, sizeof(b));
	return a == b;
}

// Whether a checked header is one of IPv4. Version 6 has a bit that 4 has not.
static inline bool ip_is_v4(const void *ip)
{
	return likely((*(const uint8_t *)ip & 0x20) == 0);
}

// Length of the whole packet in octets.
static inline uint32_t ip_len(const void *ip, bool v4)
{
	return v4 ? rte_be_to_cpu_16(((const struct rte_ipv4_hdr *)ip)->total_length)
		  : ipv6_len(ip);
}

static inline struct ip_addr ip_src(const void *ip, bool v4)
{
	return v4 ? ip_addr_from_v4(((const struct rte_ipv4_hdr *)ip)->src_addr) : ipv6_src(ip);
}

static inline struct ip_addr ip_dst(const void *ip, bool v4)
{
	return v4 ? ip_addr_from_v4(((const struct rte_ipv4_hdr *)ip)->dst_addr) : ipv6_dst(ip);
}

// Writes the header of a packet that the gateway originates, with TTL 64, a payload of len octets,
// and addresses of one family. Returns its length.
uint16_t ip_header_write(uint8_t *out, const struct ip_addr *src, const struct ip_addr *dst,
	uint8_t proto, uint16_t len);

// Copies the first octets of the upper layer, as far as the packet, of len octets, has them.
static inline void ip_layout_read_l4(struct ip_layout *at, const void *ip, uint32_t len)
{
	const uint8_t *l4 = (const uint8_t *)ip + at->l4_off;
	uint32_t there = len - at->l4_off;

	if (likely(there >= sizeof(at->l4)))
		memcpy(at->l4, l4, sizeof(at->l4));
	else
		memcpy(at->l4, l4, there);
}

// Layout of a packet that ipv4_check() has passed.
static inline struct ip_layout ip_layout_v4(const struct rte_ipv4_hdr *ip)
{
	struct ip_layout at = {
		.l4_off = rte_ipv4_hdr_len(ip),
		.proto = ip->next_proto_id,
		.v4 = true,
		.fragment = ipv4_is_fragment(ip),
	};

	if (likely(!at.fragment))
		ip_layout_read_l4(&at, ip, ip_len(ip, true));
	return at;
}

// Layout of a packet for which ipv4_plain_len() has returned a length.
static inline void ip_layout_v4_plain(struct ip_layout *at, const struct rte_ipv4_hdr *ip)
{
	static const struct ip_layout plain = {.l4_off = sizeof(*ip), .v4 = true};

	static_assert(IPV4_PLAIN_MIN == sizeof(*ip) + sizeof(at->l4), "it has what is copied");
	memcpy(at, &plain, offsetof(struct ip_layout, l4)); // in one store
	at->proto = ip->next_proto_id;
	memcpy(at->l4, ip + 1, sizeof(at->l4));
}

// Layout of a packet for which ipv6_plain_len() has returned a length.
static inline void ip_layout_v6_plain(struct ip_layout *at, const struct rte_ipv6_hdr *ip)
{
	static const struct ip_layout plain = {.l4_off = sizeof(*ip)};

	static_assert(IPV6_PLAIN_MIN == sizeof(*ip) + sizeof(at->l4), "it has what is copied");
	memcpy(at, &plain, offsetof(struct ip_layout, l4)); // in one store
	at->proto = ip->proto;
	memcpy(at->l4, ip + 1, sizeof(at->l4));
}

// Layout of a packet that ipv6_check() has passed, and ipv6_upper_find() has parsed; if its
// extension headers are malformed, the layout leads to the first such header.
static inline struct ip_layout ip_layout_v6(
	const struct rte_ipv6_hdr *ip, const struct ipv6_upper *upper)
{
	struct ip_layout at = {
		.l4_off = upper->off,
		.proto = upper->proto,
		.fragment = upper->fragment,
	};

	if (likely(!at.fragment))
		ip_layout_read_l4(&at, ip, ipv6_len(ip));
	return at;
}

// The same of either family. False: the extension headers are malformed.
bool ip_layout_read(struct ip_layout *at, const void *ip);

// Layout of a packet that an ICMP error of the family quotes. *len: octets of the quote, then those
// of the upper layer in it. fragment: a later fragment, whose octets are from the middle of the
// payload. False: the headers are truncated or malformed.
bool ip_layout_quoted(struct ip_layout *at, const void *ip, uint32_t *len, bool v4);

// Offset of the field with the protocol of the upper layer.
static inline uint16_t ip_layout_next_off(const void *ip, const struct ip_layout *at)
{
	return at->v4 ? offsetof(struct rte_ipv4_hdr, next_proto_id)
		      : ipv6_next_field(ip, at->l4_off);
}

// Whether the packet is whole, and at least len octets of the protocol's header are there.
static inline bool ip_layout_has(
	const struct ip_layout *at, const void *ip, uint8_t proto, uint32_t len)
{
	return at->proto == proto && !at->fragment && ip_len(ip, at->v4) >= at->l4_off + len;
}
