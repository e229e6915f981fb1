// SPDX-License-Identifier: BSD-3-Clause
// ICMP for IPv4 (RFC 792, RFC 1122 3.2.2, RFC 1812 4.3) and IPv6 (RFC 4443), whose types and codes
// are those of <netinet/icmp6.h>. Pure functions, any thread. Neighbour discovery: nd.h.
#pragma once

#include <netinet/icmp6.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_ip.h>

#include "ip_layout.h"

#define ICMP_ECHO_REPLY         0
#define ICMP_ECHO_REQUEST       8
#define ICMP_UNREACHABLE        3
#define ICMP_UNREACH_HOST       1
#define ICMP_UNREACH_PROTOCOL   2
#define ICMP_UNREACH_PORT       3
#define ICMP_UNREACH_NEEDFRAG   4
#define ICMP_UNREACH_PROHIBITED 13
#define ICMP_UNREACH_NET        0
#define ICMP_REDIRECT           5
#define ICMP_TIME_EXCEEDED      11
#define ICMP_PARAMETER_PROBLEM  12

#define ICMP_TIME_EXCEEDED_REASSEMBLY 1

#define ICMP6_PARAMPROB_FIRST_FRAGMENT 3 // RFC 7112 6

// An error message is at most this long, IP header included (RFC 1812 4.3.2.3; RFC 4443 2.4 c).
#define ICMP_ERROR_MAX  576
#define ICMP6_ERROR_MAX IPV6_MIN_MTU

// The start of every message, aligned or not.
struct icmp_head {
	uint8_t type, code;
	rte_be16_t cksum;
	rte_be32_t param; // by type: see struct icmp_error; identifier and number of an echo
} __rte_packed;

struct icmp_error {
	uint8_t type, code;
	uint32_t param; // MTU of too big, pointer of an ICMPv6 parameter problem, else 0
};

// Whether a type is that of an error; for ICMPv6 also unknown errors (RFC 4443 2.1).
static inline bool icmp_is_error(uint8_t type, bool v4)
{
	if (!v4)
		return (type & ICMP6_INFOMSG_MASK) == 0;
	return type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
}

// Whether messages of the type have an identifier, in the first half of param: echo, timestamp,
// information and address mask (RFC 792, RFC 950).
static inline bool icmp_has_ident(uint8_t type, bool v4)
{
	if (!v4)
		return type == ICMP6_ECHO_REQUEST || type == ICMP6_ECHO_REPLY;
	return type == ICMP_ECHO_REPLY || type == ICMP_ECHO_REQUEST || (type >= 13 && type <= 18);
}

// The kind of an error, in terms that both families share.
enum icmp_kind {
	ICMP_KIND_UNREACHABLE,
	ICMP_KIND_TOO_BIG, // of IPv4: fragmentation needed
	ICMP_KIND_TIME_EXCEEDED,
	ICMP_KIND_PARAMETER_PROBLEM,
	ICMP_KIND_OTHER, // source quench, redirect, unknown errors of ICMPv6
};

// The kind of an error with this type and code.
static inline enum icmp_kind icmp_kind(bool v4, uint8_t type, uint8_t code)
{
	if (v4 && type == ICMP_UNREACHABLE && code == ICMP_UNREACH_NEEDFRAG)
		return ICMP_KIND_TOO_BIG;
	if (type == (v4 ? ICMP_UNREACHABLE : ICMP6_DST_UNREACH))
		return ICMP_KIND_UNREACHABLE;
	if (type == (v4 ? ICMP_TIME_EXCEEDED : ICMP6_TIME_EXCEEDED))
		return ICMP_KIND_TIME_EXCEEDED;
	if (type == (v4 ? ICMP_PARAMETER_PROBLEM : ICMP6_PARAM_PROB))
		return ICMP_KIND_PARAMETER_PROBLEM;
	return !v4 && type == ICMP6_PACKET_TOO_BIG ? ICMP_KIND_TOO_BIG : ICMP_KIND_OTHER;
}

// Checksum of the len octets of the message at icmp, in the packet at ip. It is 0 if the message
// has the right checksum, and the right checksum if the message has 0 in its place.
uint16_t icmp_checksum(const void *ip, const void *icmp, uint32_t len);

// Whether the error may be sent about this packet, whose header is checked (RFC 1812 4.3.2.7; RFC
// 4443 2.4 e). Not about an ICMP error or redirect, or a packet that is too short to exclude one;
// not about a later fragment, except of IPv6 if it names its protocol; and only if source and
// destination are single hosts, except for the errors that RFC 4443 allows about multicast.
bool icmp_error_allowed(const struct icmp_error *error, const void *about);

// Writes the whole IP packet of the error to out, which holds ICMP_ERROR_MAX or ICMP6_ERROR_MAX
// octets: from source to the sender of about, quoting as much of it as fits. Over IPv4 it may be
// fragmented, so each needs another id (RFC 6864 4.1). Returns its length.
uint16_t icmp_error_build(uint8_t *out, struct icmp_error error, const struct ip_addr *source,
	rte_be16_t id, const void *about);

// Turns an echo request into its reply in place, IP header and checksums included.
void icmp_echo_reply(struct rte_ipv4_hdr *ip);

// The same for IPv6, with the message l4_off octets after the start of the IP header. source is the
// destination of the request, unless that is a multicast or anycast address (RFC 4443 4.2). The
// reply has no extension headers; returns its length, which may be smaller.
uint16_t icmp6_echo_reply(struct rte_ipv6_hdr *ip, uint16_t l4_off, const struct ip_addr *source);

#define ICMP_ECHO_MAX 48 // octets of a request without data

// Writes an echo request with data octets of data, IP header included: out has room for
// ICMP_ECHO_MAX octets and these. Both addresses are of one family; echo has the identifier in its
// upper half and the sequence number in the lower. Returns its length.
uint16_t icmp_echo_build(uint8_t *out, const struct ip_addr *source,
	const struct ip_addr *destination, uint32_t echo, uint16_t data);

// Whether a packet is an echo request with a right checksum; or an echo reply, whatever its
// checksum.
bool icmp_echo_is_request(const void *ip, const struct ip_layout *at);
bool icmp_echo_is_reply(const void *ip, const struct ip_layout *at);
