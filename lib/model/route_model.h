// SPDX-License-Identifier: BSD-3-Clause
// Names of the protocols by which routes come into the kernel (RTPROT_* of rtnetlink(7), and those
// of /etc/iproute2/rt_protos), in the configuration and in lists. Constant; any thread.
#pragma once

#include <stdint.h>

extern const struct route_protocol {
	const char *name; // NULL after the last
	uint8_t number;
} route_protocols[];

#define ROUTE_PROTOCOL_TEXT_MAX 12

// "bgp", or "99" for one without a name.
const char *route_protocol_format(char text[ROUTE_PROTOCOL_TEXT_MAX], uint8_t number);
