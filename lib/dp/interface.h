// SPDX-License-Identifier: BSD-3-Clause
// Interfaces, by which packets come and go. Each has one number: packets, next hops, rules, flows,
// datagrams in fragments and holders of work refer to it by that. A snapshot has the facts about
// ports and hosts; a packet out of a tunnel has its SA. Workers and control thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PORTS_MAX 16

#define HOSTS_MAX 240

// Ports, which may be VLANs, have their own numbers. Hosts follow: that behind a port is
// IFACE_HOST() of the port's number, those of tunnels come after these. A tunnel that routes lead
// into and its host keep their numbers as long as the configuration has them with this name, so
// that a route leads into no other one while a configuration replaces another.
#define IFACE_HOST(i)    (PORTS_MAX + (i))
#define IFACE_TUNNEL_MIN IFACE_HOST(HOSTS_MAX)
#define IFACES           (IFACE_TUNNEL_MIN + 2 * 4096)

// In decisions of flows the ingress of packets out of an SA is the SPI of the first SA of its
// tunnel: SPIs below are reserved (RFC 4303 2.1), and no other ingress is that large.
#define INGRESS_SA_MIN 256u

struct nexthop;
struct ip_addr;
struct spd_policy;

struct iface {
	const char *name; // that of the port, or of the tunnel
	// Own addresses of the port or tunnel; with IPv6, a link-local one is among them.
	const struct ip_addr *addrs;
	// Link-local addresses are the same on every link, so no route has them: next hops to those
	// of stations, and to our own.
	const struct nexthop *on_link, *own_link_local;
	const struct nexthop *host; // to the host behind the port, or of the tunnel; NULL: none
	// Of a host of a tunnel: leads into that, where all that it sends goes. NULL: routes count.
	const struct nexthop *only;
	uint16_t n_addrs;
	uint16_t mtu;  // octets of IP packet; of a tunnel the path of its SA has that
	uint16_t port; // the port itself, or the one in front of the host, or of the tunnel's SAs
	bool unprotected; // that port faces the untrusted side (RFC 4301 4.4.1)
	bool is_host;     // the host sends from addresses of the gateway
	// Of a port, and of its host: that gets the addresses for both, see host.h.
	bool follows_host;
	const struct spd_policy *tunnel; // of a tunnel
};

static inline bool iface_is_port(uint16_t number)
{
	return number < PORTS_MAX;
}

static inline bool iface_is_host(uint16_t number)
{
	return number >= IFACE_HOST(0) && number < IFACE_HOST(HOSTS_MAX);
}

static inline bool iface_is_tunnel(uint16_t number)
{
	return number >= IFACE_TUNNEL_MIN;
}
