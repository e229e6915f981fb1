// SPDX-License-Identifier: BSD-3-Clause
// What the gateway says itself: answers to pings, and ICMP errors (RFC 792, RFC 1812 4.3; RFC
// 4443). Workers.
#pragma once

#include "worker.h"

// What can be wrong with a packet, in the words that ICMP has for it in either family.
enum local_fault {
	LOCAL_NO_ROUTE,
	LOCAL_NO_HOST,
	LOCAL_NO_PORT,
	LOCAL_NO_PROTOCOL, // IPv6: the argument is where the packet names it, in octets
	LOCAL_PROHIBITED,
	LOCAL_TTL,
	LOCAL_REASSEMBLY,
	LOCAL_TOO_BIG, // the argument is what would fit
	// IPv6 only; the argument is where what is wrong stands, in octets:
	LOCAL_OPTION,
	LOCAL_HEADER,
	LOCAL_FIRST_FRAGMENT, // without all headers; the argument is 0
};

// Whether policy lets us hear a packet for one of our addresses. Returns what
// policy_check_inbound() does; but that is not asked about errors about the size of ESP packets,
// which prove themselves.
enum drop local_admit(struct worker *w, struct pkt *p);

// Serves the packets of w->local, which are for our addresses, and empties it. Answers go to
// w->own.
void local_burst(struct worker *w);

// Tells the sender of p what went wrong, if that is allowed (RFC 1812 4.3.2.7, RFC 4443 2.4) and
// the rate permits. p itself is left as it is, for the caller to drop. The message goes to w->own.
void local_error(struct worker *w, const struct pkt *p, enum local_fault fault, uint16_t argument);

// Whether the rate permits no error about p now; if so, counts the error as suppressed. Takes
// nothing from the rate.
bool local_error_is_suppressed(struct worker *w, const struct pkt *p);

// The same as local_error() with a TCP reset (RFC 9293 3.5.2), about a whole TCP packet.
void local_reset(struct worker *w, const struct pkt *p);

// Sorts w->own by how it goes out: w->protect or w->forward.
void local_output(struct worker *w);
