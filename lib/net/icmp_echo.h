// SPDX-License-Identifier: BSD-3-Clause
// Pings that the gateway itself sends (RFC 792, RFC 4443 4), to probe tunnels: requests by the
// control thread, replies on workers. Pure functions on packet memory.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"

#define ICMP_ECHO_MAX 48 // octets of a request

// Writes an echo request without data, IP header included: out has room for ICMP_ECHO_MAX octets.
// Both addresses are of one family, id and seq in host byte order. Returns its length.
uint16_t icmp_echo_build(uint8_t *out, const struct ip_addr *source,
	const struct ip_addr *destination, uint16_t id, uint16_t seq);

// Whether a whole IP packet of either family, whose headers were checked, is an echo reply; its
// checksum is not looked at.
bool icmp_echo_is_reply(const void *ip);
