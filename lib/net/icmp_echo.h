// SPDX-License-Identifier: BSD-3-Clause
// Echo requests and replies of either family (RFC 792, RFC 4443 4): those that the gateway sends to
// probe tunnels, by the control thread, and those that workers receive. Pure functions on packet
// memory.
#pragma once

#include "ip_layout.h"

#define ICMP_ECHO_MAX 48 // octets of a request

// Writes an echo request without data, IP header included: out has room for ICMP_ECHO_MAX octets.
// Both addresses are of one family, id and seq in host byte order. Returns its length.
uint16_t icmp_echo_build(uint8_t *out, const struct ip_addr *source,
	const struct ip_addr *destination, uint16_t id, uint16_t seq);

// Whether a packet is an echo request with a right checksum; or an echo reply, whatever its
// checksum.
bool icmp_echo_is_request(const void *ip, const struct ip_layout *at);
bool icmp_echo_is_reply(const void *ip, const struct ip_layout *at);
