// SPDX-License-Identifier: BSD-3-Clause
// ICMP errors of a router between the gateways of site.h or site_v6.h about packets that A sent,
// received by its WAN port, without the code under test.
#pragma once

#include "packet_v6.h"

#define ROUTER  "192.0.2.254"
#define ROUTER6 "2001:db8:f::9"

struct error {
	uint8_t type, code;
	uint32_t mtu;
	uint16_t quoted; // octets
	const char *to;  // A's address on WAN
	// Extension headers of the IPv6 packet, as in struct ipv6.
	const uint8_t *ext;
	uint8_t ext_len, ext_proto;
};

struct frame error_v4(const struct frame *about, struct error e);
struct frame error_v6(const struct frame *about, struct error e);
