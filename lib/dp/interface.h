// SPDX-License-Identifier: BSD-3-Clause
// Interfaces, by which packets come and go. Each has one number: packets, next hops, rules, flows,
// datagrams in fragments and holders of work refer to it by that. A snapshot has the facts about
// ports and hosts; a packet out of a tunnel has its SA. Workers and control thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PORTS_MAX 16

// A port, which may be a VLAN, has its own number, and the host behind the port IFACE_HOST() of
// that number. Tunnels that routes lead into follow in the order of the configuration.
#define IFACE_HOST(port) (PORTS_MAX + (port))
#define IFACE_TUNNEL(i)  (IFACE_HOST(PORTS_MAX) + (i))

// In decisions of flows the ingress of packets out of an SA is the SPI of the first SA of its
// tunnel: SPIs below are reserved (RFC 4303 2.1), and no other ingress is that large.
#define INGRESS_SA_MIN 256u

struct iface {
	const char *name; // that of the port, or of the tunnel
	uint16_t mtu;     // octets of IP packet; of a tunnel the path of its SA has that
	uint16_t port; // the port itself, or the one in front of the host, or of the tunnel's SAs
	bool unprotected; // that port faces the untrusted side (RFC 4301 4.4.1)
	bool is_host;     // the host sends from addresses of the gateway
};

// Of a port or a host: whether it is a host.
static inline bool iface_is_host(uint16_t number)
{
	return number >= IFACE_HOST(0);
}
