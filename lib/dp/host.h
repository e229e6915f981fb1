// SPDX-License-Identifier: BSD-3-Clause
// The host: the kernel of this machine and its programs, which have the addresses of a port or
// tunnel on an interface of the kernel. Packets for own addresses that the gateway does not process
// itself, and that a rule admits, are punted: put into the ring of the host behind their ingress
// port, or without one of the port with the address; those for an address of a tunnel into that of
// the tunnel's host. They are subject to policy (RFC 4301 5), are parts of flows, and take no part
// in neighbour discovery, which is the gateway's. Packets from the host come from a ring; they are
// sent as packets that the gateway originates, subject to policy, with flows, without rules; those
// of a tunnel's host go into the tunnel without a look-up of routes. Multicast stays on the link.
// Workers.
#pragma once

#include "worker.h"

// The ring to a host, by its number as an interface. NULL: it has no interface.
static inline struct rte_ring *host_ring(const struct worker *w, uint16_t host)
{
	return atomic_load_explicit(&w->to_host[host - IFACE_HOST(0)], memory_order_acquire);
}

// The next hop to the host behind a port or of a tunnel. NULL: there is none.
static inline const struct nexthop *host_behind(const struct worker *w, uint16_t iface)
{
	const struct nexthop *host = w->snapshot->iface[iface].host;

	return unlikely(host != NULL) && host_ring(w, host->iface) != NULL ? host : NULL;
}

// Whether the host has begun the flow of a packet for it.
static inline bool host_began(const struct flow *f, const struct flow_pkt *fp)
{
	return flow_word_initiator(flow_word(f)) != fp->dir;
}

// Whether the host or a rule admits a packet for an own address, of the flow f if there is one:
// then p->nexthop leads to the host. Otherwise the packet is the gateway's. Returns DROP_NONE;
// DROP_HOST_LIMIT; DROP_LOCAL_UNSERVED for a packet of the host itself.
enum drop host_admit(struct worker *w, struct pkt *p, struct flow_pkt *fp, const struct flow *f);

// The number of the rule that admits a packet for an own address, without a flow, as host_admit()
// does: then p->nexthop leads to the host. 0: the packet is the gateway's.
uint32_t host_rule_new(struct worker *w, struct pkt *p, const struct flow_pkt *fp);

// Gives a packet to the host with this number as an interface, or drops it: DROP_HOST_LIMIT,
// DROP_RING_FULL, DROP_NO_BUFFER.
void host_punt(struct worker *w, struct pkt *p, uint16_t host, struct host_limit limit);

// The same with a packet that p->nexthop leads to the host; f is its flow, NULL: it is the first;
// rule: see host_limit_of().
void host_punt_flow(struct worker *w, struct pkt *p, const struct flow_pkt *fp,
	const struct flow *f, uint32_t rule);

// Punts an IP packet that was received in a frame for a group, to a port with a host. Returns
// DROP_NONE; DROP_NOT_UNICAST if its destination is none, or no rule admits it, or it may be
// host_is_link_control(); DROP_IP_SOURCE if its source is no other host's; DROP_EXT_HEADERS,
// DROP_IP_HEADER, DROP_SOURCE_ROUTED, DROP_HOST_LIMIT; or as policy_check_inbound() and
// firewall_check().
enum drop host_input_group(struct worker *w, struct pkt *p);

// The same with a packet out of an SA: for a group of the link (224.0.0.0/24, ff02::/16) with a TTL
// or hop limit of 1, of a tunnel with a host. DROP_TUNNEL_SOURCE as well.
enum drop host_input_inside(struct worker *w, struct pkt *p);

// At the end of a pass with w->punted.
void host_wake(struct worker *w);

// --- packets from the host: host_input.c ---

// Whether the host has sent packets.
static inline bool host_pending(const struct worker *w)
{
	return unlikely(w->from_host != NULL) && !rte_ring_empty(w->from_host);
}

// Takes at most n packets of the host.
void host_input(struct worker *w, uint16_t n);

// Of a packet of a tunnel's host with the flow f (NULL: there is none): if it answers a station
// whose packets do not come out of the tunnel, sets p->nexthop to that of the gateway's route
// instead. A default route of the kernel may lead into the tunnel, where the station is not.
void host_route_answer(
	const struct worker *w, struct pkt *p, const struct flow_pkt *fp, const struct flow *f);

// Drops packets from the host, when the worker stops.
void host_stop(struct worker *w);

// Whether a packet is neighbour discovery (RFC 4861) or a redirect (RFC 792), by which a kernel
// learns routers, routes, addresses and neighbours. They are the gateway's task: no rule admits
// them to the host, in clear or out of a tunnel.
bool host_is_link_control(const struct pkt *p);

// Whether an address is the gateway's, a link-local one on the packet's link.
bool host_is_own(const struct worker *w, const struct pkt *p, const struct ip_addr *addr);

// Whether an address is a multicast group, or broadcast on the port's link; then its link address
// in *mac, which is undefined otherwise.
bool host_is_group(const struct worker *w, uint16_t port, const struct ip_addr *addr,
	struct rte_ether_addr *mac);

// --- addresses that the host gets for its port (addresses = [ "host" ]): host_client.c ---

// DHCPv4 (RFC 2131), DHCPv6 (RFC 8415) and router discovery (RFC 4861) pass in clear between the
// link of a port that follows its host and that, without policies, rules and flows, as ARP does:
// before there is an address, these could be about nothing.

// Whether the host asks for addresses with a packet whose header was read: DHCPv4 from port 68 to
// 67 with the link address of the port inside; DHCPv6 from port 546 to 547, or a router
// solicitation, from a link-local address to a group. Fragments do not.
bool host_client_asks(const struct worker *w, const struct pkt *p);

// Sends a packet with host_client_asks() to the server that it is addressed to. False: no route
// leads there by the port, and the packet is like any other.
bool host_client_send(struct worker *w, struct pkt *p);

// Whether a packet in clear whose header was read answers such a host: DHCPv4 from port 67 to 68
// with the link address of the port inside, to no other own address than one of the port; DHCPv6
// from port 547 to 546 to one of the port; or a router advertisement from the link. Fragments do
// not.
bool host_client_is_answer(const struct worker *w, const struct pkt *p);

// Punts a packet with host_client_is_answer(), limited as a packet that no rule admits. Returns
// DROP_NONE; or DROP_IP_SOURCE.
enum drop host_client_input(struct worker *w, struct pkt *p);

// --- limits of packets to and from the host: host_limit.c ---

// A flood of one service leaves others, and connections that are established, theirs
// (docs/decisions/0037-the-host-behind-a-port.md): token buckets by port, class and share, and for
// decapsulated packets by SA and class.

// The limit of a packet for the host. f is its flow, NULL if there is none yet. rule: the number of
// the rule that admits the flow, as in union flow_deciders; 0: none, as the host has begun it.
struct host_limit host_limit_of(
	const struct worker *w, const struct flow_pkt *fp, const struct flow *f, uint32_t rule);

// The same for a packet that the host sends, whole or a fragment, with its layout.
struct host_limit host_limit_sent(const struct worker *w, const struct pkt *p);

// Whether the limit admits one packet more.
bool host_has_token(struct worker *w, const struct pkt *p, struct host_limit limit);

// The same, and the packet is counted.
bool host_take_token(struct worker *w, const struct pkt *p, struct host_limit limit);
