// SPDX-License-Identifier: BSD-3-Clause
// ICMP errors and TCP resets that the gateway sends about a packet, to its source (RFC 792, RFC
// 1812 4.3; RFC 4443). They are put into w->own; local_output() routes them. Workers.
#pragma once

#include "worker.h"

// Faults of a packet for which ICMP of either family has a type and code.
enum error_fault {
	ERROR_NO_ROUTE,
	ERROR_NO_HOST,
	ERROR_UNREACHABLE, // by a route of that type: as Linux does, no host or, with IPv6, no
			   // route
	ERROR_NO_PORT,
	ERROR_NO_PROTOCOL, // IPv6: the argument is the offset of the field that names it, in octets
	ERROR_PROHIBITED,
	ERROR_TTL,
	ERROR_REASSEMBLY,
	ERROR_TOO_BIG, // the argument is the MTU, in octets
	// IPv6 only; the argument is the offset of the faulty field, in octets:
	ERROR_OPTION,
	ERROR_HEADER,
	ERROR_FIRST_FRAGMENT, // lacks headers (RFC 7112); the argument is 0
};

// Sends an ICMP error about p if one is allowed (RFC 1812 4.3.2.7, RFC 4443 2.4) and the rate
// permits it. p is unchanged: the caller drops it.
void error_send(struct worker *w, const struct pkt *p, enum error_fault fault, uint16_t argument);

// Whether the rate permits no error about p now; if so, counts the error as suppressed. Takes
// nothing from the rate.
bool error_is_suppressed(struct worker *w, const struct pkt *p);

// Takes one from the rate. False: the rate permits none about p now, which is counted as above.
bool error_take(struct worker *w, const struct pkt *p);

// The same as error_send() with a TCP reset (RFC 9293 3.5.2), about a whole TCP packet.
void error_send_reset(struct worker *w, const struct pkt *p);

// The next hop from an own address, or none of them, to addr, an address of p: one that is
// link-local is on the link of p's ingress port, an own one is the IKE host's, if that is at this
// port. NULL: there is no route.
const struct nexthop *error_route_back(const struct worker *w, const struct pkt *p,
	const struct ip_addr *from, const struct ip_addr *addr);
