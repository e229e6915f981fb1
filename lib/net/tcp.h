// SPDX-License-Identifier: BSD-3-Clause
// TCP resets on behalf of a host that is not to be reached (RFC 9293 3.5.2). Pure functions.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_ip.h>

// Whether the checked, whole packet is TCP with its header, and not a reset itself.
bool tcp_reset_allowed(const struct rte_ipv4_hdr *about);

// Writes the IP packet of the reset that answers about. Returns its length, 40 octets.
uint16_t tcp_reset_build(uint8_t *out, const struct rte_ipv4_hdr *about);

// The same for IPv6; the reset has 60 octets and no extension headers.
bool tcp_reset_allowed_v6(const struct rte_ipv6_hdr *about);
uint16_t tcp_reset_build_v6(uint8_t *out, const struct rte_ipv6_hdr *about);
