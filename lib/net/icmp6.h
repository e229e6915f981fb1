// SPDX-License-Identifier: BSD-3-Clause
// ICMP for IPv6 (RFC 4443). Types and codes are those of <netinet/icmp6.h>. Pure functions, any
// thread. Neighbour discovery: nd.h.
#pragma once

#include <netinet/icmp6.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_ip.h>

#include "ipv6.h"

#define ICMP6_PARAMPROB_FIRST_FRAGMENT 3 // RFC 7112 6

// An error message is at most this long, IP header included (RFC 4443 2.4 c).
#define ICMP6_ERROR_MAX IPV6_MIN_MTU

// What every message starts with, aligned or not.
struct icmp6_head {
	uint8_t type, code;
	rte_be16_t cksum;
	rte_be32_t param; // by type: see struct icmp6_error; identifier and number of an echo
} __rte_packed;

struct icmp6_error {
	uint8_t type, code;
	uint32_t param; // MTU of packet too big, pointer of a parameter problem, else 0
};

// Whether a type is that of an error, known or not (RFC 4443 2.1).
static inline bool icmp6_is_error(uint8_t type)
{
	return (type & ICMP6_INFOMSG_MASK) == 0;
}

// Whether the error may be sent about this packet that ipv6_check() has passed (RFC 4443 2.4 e):
// not about errors and redirects, nor what may be one of them, not to what is not one host, and
// about multicast only what its sender cannot learn otherwise.
bool icmp6_error_allowed(const struct icmp6_error *error, const struct rte_ipv6_hdr *about);

// Writes the whole IP packet of the error to out, which holds ICMP6_ERROR_MAX octets: from source
// to the sender of about, quoting as much of it as fits. Returns its length.
uint16_t icmp6_error_build(uint8_t *out, struct icmp6_error error, const struct ip_addr *source,
	const struct rte_ipv6_hdr *about);

// Turns an echo request, l4_off octets behind the IP header, into its reply in place: from source,
// which is what was asked unless that is an address of several (RFC 4443 4.2). Extension headers
// are left out, so the reply may be shorter; returns its length.
uint16_t icmp6_echo_reply(struct rte_ipv6_hdr *ip, uint16_t l4_off, const struct ip_addr *source);
