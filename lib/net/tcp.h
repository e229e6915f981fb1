// SPDX-License-Identifier: BSD-3-Clause
// TCP resets for a host that is not reachable (RFC 9293 3.5.2). Pure functions.
#pragma once

#include "ip_layout.h"

// Whether the checked, whole packet is TCP with its header, and not a reset itself.
bool tcp_reset_allowed(const void *about, const struct ip_layout *at);

// Writes the IP packet of the reset that answers about. Returns its length: 40 octets, of IPv6 60,
// without extension headers.
uint16_t tcp_reset_build(uint8_t *out, const void *about, const struct ip_layout *at);
