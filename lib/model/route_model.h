// SPDX-License-Identifier: BSD-3-Clause
// Names of the protocols by which routes come into the kernel (RTPROT_* of rtnetlink(7), and those
// of /etc/iproute2/rt_protos), in the configuration and in lists. Constant; any thread.
#pragma once

#include <stdint.h>

extern const struct route_protocol {
	const char *name; // NULL after the last
	uint8_t number;
} route_protocols[];

// Of the gateway's own routes in the kernel: routes for its hosts, and routes that routing daemons
// announce. No other program has these numbers.
#define ROUTE_PROTOCOL_HOST      67
#define ROUTE_PROTOCOL_ANNOUNCED 68

#define ROUTE_PROTOCOL_TEXT_MAX 12

// "bgp", or "99" for one without a name.
const char *route_protocol_format(char text[ROUTE_PROTOCOL_TEXT_MAX], uint8_t number);
