// SPDX-License-Identifier: BSD-3-Clause
// Interfaces, by which packets come and go. Each has one number: packets, next hops, rules, flows,
// datagrams in fragments and holders of work refer to it by that. A snapshot has the facts about
// ports and hosts; a packet out of a tunnel has its SA. Workers and control thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PORTS_MAX 16

// A port, which may be a VLAN, has its own number, and the host behind the port IFACE_HOST() of
// that number. The number of a tunnel is the SPI of its first SA: SPIs below IFACE_TUNNEL_MIN are
// reserved (RFC 4303 2.1).
#define IFACE_HOST(port) (PORTS_MAX + (port))
#define IFACES_MAX       IFACE_HOST(PORTS_MAX)
#define IFACE_TUNNEL_MIN 256u

struct iface {
	const char *name; // that of the port
	uint16_t mtu;     // octets of IP packet
	uint16_t port;    // the port itself, or the one in front of the host
	bool unprotected; // that port faces the untrusted side (RFC 4301 4.4.1)
	bool is_host;     // the host sends from addresses of the gateway
};

// Whether the number is that of the host behind a port.
static inline bool iface_is_host(uint16_t number)
{
	return number >= IFACE_HOST(0);
}
