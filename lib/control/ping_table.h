// SPDX-License-Identifier: BSD-3-Clause
// Echo requests that operators have sent through tunnels, and their results: the state of ping.h.
#pragma once

#include <stdint.h>

#include <rte_byteorder.h>

#include "addr.h"
#include "ping_request.h"

enum ping_state {
	PING_RESOLVING, // not sent yet: the link address of the next hop is unknown
	PING_WAITING,   // sent
	PING_ANSWERED,
	PING_TOO_BIG,     // a router on the path to the peer has dropped the ESP packet
	PING_UNREACHABLE, // a host or router after the peer has sent an ICMP error
	PING_STATES
};

extern const char *const ping_state_names[PING_STATES];

struct ping {
	uint32_t number; // 0: the place is free
	enum ping_state state;
	uint64_t request;  // as of ping_request()
	uint64_t begun_ms; // when the operator asked for it
	uint64_t sent_tsc; // before it was sealed
	struct ip_addr from, to;
	// The ESP packet, as ICMP errors quote it: to this peer, with these octets of IP packet.
	struct ip_addr peer;
	uint16_t esp_len;
	rte_be16_t esp_id; // of IPv4
	rte_be32_t spi, seq;
	uint16_t port;     // by which it leaves
	uint16_t size_max; // octets of the largest packet that fits the MTU of that port
	// The result: round trip in TSC cycles; or the sender of the error, the MTU of the link
	// that it names, 0: none, and octets of the largest packet that fits that.
	uint64_t round_trip;
	struct ip_addr by;
	uint16_t mtu, fits;
	uint8_t icmp_type, icmp_code; // of PING_UNREACHABLE
};

struct pings {
	struct ping item[PINGS_MAX];
	uint32_t number; // of the last one
};
