// SPDX-License-Identifier: BSD-3-Clause
// IPv6 headers and their extension headers (RFC 8200), as received. Workers; pure functions on
// packet memory.
#pragma once

#include <assert.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_ip.h>

#include "addr.h"
#include "dpdk_compat.h"

enum ipv6_fault {
	IPV6_GOOD,
	IPV6_SHORT, // no room for a header
	IPV6_MALFORMED,
	IPV6_TRUNCATED, // the packet that the header announces is longer
	IPV6_ADDRESS,   // a mapped IPv4 address, never valid on the wire (RFC 6890 2.2.3)
	// Of the extension headers:
	IPV6_CHAIN_TRUNCATED, // one ends after the end of the packet
	IPV6_CHAIN_ORDER,     // hop-by-hop options that are not first, or a second fragment header
	IPV6_CHAIN_LONG,      // too many options, or too long (limits below)
	IPV6_SOURCE_ROUTED,   // the packet has not reached the end of its source route
};

#define IPV6_CHAIN_MAX     8   // extension headers
#define IPV6_CHAIN_LEN_MAX 512 // their octets
#define IPV6_MIN_MTU       1280

// Of the second 16 bits of a fragment header.
#define IPV6_FRAGMENT_MORE   1
#define IPV6_FRAGMENT_OFFSET 0xfff8

// Options (RFC 8200 4.2, RFC 2711), and a value of the router alert.
#define IPV6_OPTION_PADN  1
#define IPV6_OPTION_ALERT 5
#define IPV6_ALERT_MLD    0

// The upper layer after the extension headers. AH and ESP count as upper layers here, as selectors
// need them (RFC 4301 4.4.1.1).
struct ipv6_upper {
	uint16_t off;      // octets from the IPv6 header to it
	uint8_t proto;     // IPPROTO_NONE: there is none
	bool fragment;     // of a fragmented packet, not a whole one with a fragment header
	bool later;        // a fragment, but not the first: off leads into the payload
	uint16_t frag_off; // octets to the fragment header; 0: there is none
	uint16_t next_off; // octets to the field with the number of proto
	// Offset of the field with the fault, for a parameter problem (RFC 4443 3.4).
	uint16_t fault_off;
};

// An address of a packet, in the form for both families.
static inline struct ip_addr ipv6_addr(const uint8_t b[16])
{
	struct ip_addr a;

	memcpy(a.b, b, sizeof(a.b));
	return a;
}

// Octets of the whole packet.
static inline uint32_t ipv6_len(const struct rte_ipv6_hdr *ip)
{
	return (uint32_t)sizeof(*ip) + rte_be_to_cpu_16(ip->payload_len);
}

// Whether len octets hold a valid IPv6 header and the packet that it announces. Jumbograms (RFC
// 2675) announce 0 octets of payload: their payload is then removed.
static inline enum ipv6_fault ipv6_check(const struct rte_ipv6_hdr *ip, uint32_t len)
{
	if (len < sizeof(*ip))
		return IPV6_SHORT;

	struct ip_addr src = ipv6_src(ip), dst = ipv6_dst(ip);

	if ((ip->vtc_flow & RTE_BE32(0xf0000000)) != RTE_BE32(0x60000000))
		return IPV6_MALFORMED;
	if (len < ipv6_len(ip))
		return IPV6_TRUNCATED;
	return ip_addr_is_v4(&src) || ip_addr_is_v4(&dst) ? IPV6_ADDRESS : IPV6_GOOD;
}

#define IPV6_PLAIN_MIN 44u // octets: a header, and four of the upper layer

// Whether a header, by its first eight octets, has version 6 and the protocol of a plain packet:
// TCP, UDP or ESP. Turned, they are that protocol, less the version, which is above it.
static inline bool ipv6_is_plain_head(uint64_t first)
{
	const uint64_t plain = UINT64_C(1) << IPPROTO_TCP | UINT64_C(1) << IPPROTO_UDP |
			       UINT64_C(1) << IPPROTO_ESP;
	const uint64_t head = first & (UINT64_C(0xff) << 48 | 0xf0);
	const uint64_t proto = (head << 16 | head >> 48) - (UINT64_C(0x60) << 16);

	return proto < 64 && (plain >> proto & 1) != 0;
}

static_assert(RTE_BYTE_ORDER == RTE_LITTLE_ENDIAN, "the first octet is the lowest");

// Length of a plain packet: TCP, UDP or ESP without extension headers, of at least IPV6_PLAIN_MIN
// and at most the len available octets, whose ends are both outside ::/64, where all addresses are
// that no packet may have, except those of multicast. 0: it is not plain. In a plain packet
// ipv6_check() finds no fault, and ipv6_upper_find() no extension header.
static inline uint32_t ipv6_plain_len(const struct rte_ipv6_hdr *ip, uint32_t len)
{
	uint64_t first, src, dst; // the latter are upper halves
	uint32_t total;

	if (unlikely(len < IPV6_PLAIN_MIN))
		return 0;
	memcpy(&first, ip, sizeof(first));
	memcpy(&src, &ip->src_addr, sizeof(src));
	memcpy(&dst, &ip->dst_addr, sizeof(dst));
	total = ipv6_len(ip);
	if (unlikely(!ipv6_is_plain_head(first)) || unlikely(src == 0) || unlikely(dst == 0) ||
		unlikely(total - IPV6_PLAIN_MIN > len - IPV6_PLAIN_MIN)) // a shorter one wraps
		return 0;
	return total;
}

// Whether one host can have the address: not ::, ::1 or multicast (RFC 4291 2.5.2, 2.5.3, 2.7).
static inline bool ipv6_is_host_address(const struct ip_addr *a)
{
	return a->b[0] != 0xff && !(a->q[0] == 0 && a->w[2] == 0 && (a->w[3] & ~RTE_BE32(1)) == 0);
}

// The octet of DSCP and ECN, which lies across the first two (RFC 8200 3, 7).
static inline uint8_t ipv6_tos(const struct rte_ipv6_hdr *ip)
{
	return (uint8_t)(rte_be_to_cpu_32(ip->vtc_flow) >> RTE_IPV6_HDR_TC_SHIFT);
}

static inline void ipv6_tos_set(struct rte_ipv6_hdr *ip, uint8_t tos)
{
	ip->vtc_flow = (ip->vtc_flow & ~RTE_BE32(RTE_IPV6_HDR_TC_MASK)) |
		       rte_cpu_to_be_32((uint32_t)tos << RTE_IPV6_HDR_TC_SHIFT);
}

// Checksum of the len octets of an upper layer at l4, pseudo header included (RFC 8200 8.1). It is
// 0 if the upper layer has the right checksum, and the right checksum if it has 0 in its place (for
// UDP also 0xffff).
uint16_t ipv6_checksum(const struct rte_ipv6_hdr *ip, uint8_t proto, const void *l4, uint32_t len);

// Follows the extension headers within len octets. For a packet that ipv6_check() has passed, len
// is the length that it announces; for one quoted by an error, the quoted octets. *upper is valid
// as the return value defines: fault_off unless IPV6_GOOD, the other fields if so.
//
// Options are for the receiver to process: a router may pass over hop-by-hop options (RFC 8200
// 4.3), see ipv6_options_check(). A routing header of any type is passed over if no segments are
// left (RFC 8200 4.4), also of type 0, which has to be treated like an unknown one (RFC 5095 3). If
// there are any, the packet has another final destination, so that policies could not rely on the
// present one: IPV6_SOURCE_ROUTED. For a packet to an own address, RFC 8200 4.4 requires the same
// error: parameter problem, code 0, at the routing type.
enum ipv6_fault ipv6_upper_find(
	struct ipv6_upper *upper, const struct rte_ipv6_hdr *ip, uint32_t len);

// Octets to the field with the protocol of the header at off, which is the end of the IPv6 header
// or of an extension header that ipv6_upper_find() has passed.
uint16_t ipv6_next_field(const struct rte_ipv6_hdr *ip, uint16_t off);

// The place of ESP in a packet in transport mode (RFC 4303 3.1.1): after hop-by-hop options,
// routing and fragment headers and the destination options before those. *off and *next_off are as
// in struct ipv6_upper, l4_off is that of the upper layer.
void ipv6_esp_place(
	uint16_t *off, uint16_t *next_off, const struct rte_ipv6_hdr *ip, uint16_t l4_off);

// In the order of the action bits of an option (RFC 8200 4.2).
enum ipv6_options {
	IPV6_OPTIONS_PASS,
	IPV6_OPTIONS_DROP,
	IPV6_OPTIONS_TELL,            // drop, parameter problem code 2 at *fault_off
	IPV6_OPTIONS_TELL_IF_UNICAST, // the same, unless the destination is multicast
};

// What to do with a packet to an own address about the options before its upper layer, if only
// padding is known (RFC 8200 4.2). More than 7 octets of padding in a row: IPV6_OPTIONS_DROP (RFC
// 8504 5.3). l4_off is that of the upper layer.
enum ipv6_options ipv6_options_check(
	uint16_t *fault_off, const struct rte_ipv6_hdr *ip, uint16_t l4_off);

// Whether the packet begins with hop-by-hop options and a router alert of this value is among them.
// ipv6_options_check() has passed it.
bool ipv6_has_router_alert(const struct rte_ipv6_hdr *ip, uint8_t value);
