// SPDX-License-Identifier: BSD-3-Clause
// Packets that the control thread itself originates: requests and announcements of ARP (RFC 826)
// and neighbour discovery (RFC 4861), and packets on the path of an SA: NAT-keepalives and probes.
// A packet for which there is no memory is not sent: its cause recurs. Control thread.
#pragma once

#include "control.h"

// Solicits a neighbour, by unicast if to is not NULL; the callback of struct neigh_params, arg
// being struct control.
void originate_solicitation(
	void *arg, uint16_t port, const struct ip_addr *addr, const struct rte_ether_addr *to);

// Solicits an own address that may be a duplicate; callback of struct dad_params, arg being struct
// control.
void originate_dad_solicitation(void *arg, uint16_t port, const struct ip_addr *addr);

// Announces the link address of an own IPv6 address on its link.
void originate_announcement(struct control *c, uint16_t port, const struct ip_addr *addr);

// Announces all own addresses of a port, so that other stations update their tables at once: the
// hardware may have changed. IPv6 addresses only once they are assigned.
void originate_announcements(struct control *c, uint16_t port);

// Sends an IP packet by a port to a link address. Takes m.
void originate_packet(
	struct control *c, struct rte_mbuf *m, uint16_t port, const struct rte_ether_addr *to);

// Makes a packet of an SA in m, which is empty; arg is that of originate_by_sa(). False: it cannot.
typedef bool originate_make(struct sa_out *sa, struct rte_mbuf *m, void *arg);

// Sends the IP packet that make() makes along the path of an SA. False: the peer is unknown, the
// link address of the next hop is still being resolved, make() fails, or there is no memory.
bool originate_by_sa(
	struct control *c, struct sa_out *sa, originate_make *make, void *arg, uint64_t now_ms);
