// SPDX-License-Identifier: BSD-3-Clause
// Pings of operators through tunnels (RFC 792, RFC 4443 4): one echo request at a time by the
// outbound SA of a tunnel, never fragmented, and its result: a reply by the SAs of the tunnel
// (EVENT_PING), or an ICMP error about it, of a router on the path to the peer (EVENT_PMTU) or
// after the peer. Control thread, with the gateway's lock; telemetry reads struct pings with it.
#pragma once

#include "control.h"

#define PING_KEPT_MS 10000 // from the request until its place is free again

struct ping_order {
	char tunnel[CONF_NAME_MAX]; // name of its policy
	struct ip_addr to;          // none: the end that the configuration knows
	uint16_t size;              // octets of the IP packet; 0: PING_SIZE of data
};

#define PING_SIZE 56 // octets of data, as programs called ping send

// Sends a request, or will as soon as the next hop is resolved. Returns its number, or 0 with the
// reason, a line, in why (size octets).
uint32_t ping_send(
	struct control *c, const struct ping_order *order, char *why, size_t size, uint64_t now_ms);

// The ping with that number; NULL: it is none, or over.
const struct ping *ping_find(const struct control *c, uint32_t number);

// A reply, or an error from after the peer (EVENT_PING).
void ping_answered(struct control *c, const struct event *e);

// A router on the path to the peer has dropped an ESP packet (EVENT_PMTU), perhaps one of a ping.
void ping_refused(struct control *c, const struct event *e);

// Sends requests whose next hop is resolved by now, and forgets old ones. Call it every 100 ms.
void pings_tick(struct control *c, uint64_t now_ms);
