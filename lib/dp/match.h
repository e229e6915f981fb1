// SPDX-License-Identifier: BSD-3-Clause
// What would happen to a packet, without sending one: the functions of the slow path on a packet
// made for the purpose, with counters of its own. Any thread that keeps the snapshot alive.
#pragma once

#include "worker.h"

struct match_query {
	struct ip_addr source, destination; // of one family
	uint8_t proto;
	uint16_t source_port, destination_port; // host byte order; of protocols that have ports
};

struct match {
	enum drop reason;               // DROP_NONE: the packet goes through, or is for the gateway
	bool local;                     // it is for the gateway itself
	uint16_t port;                  // number of the one that it comes in by
	const struct sa_in *sa_in;      // that it comes out of; NULL: it comes in clear
	const struct spd_policy *in_by; // the inbound policy that decides; NULL: none
	const struct spd_policy *out_by;
	const struct rule *rule; // NULL: not evaluated
	const struct nexthop
		*nexthop;            // on the route to the destination, or to the peer; NULL: none
	const struct sa_out *sa_out; // that protects it; NULL: it goes in clear
	uint16_t mtu;                // octets of the largest IP packet that fits; 0: it does not go
};

// Evaluates the first packet of a connection. It comes in by the port that the route back to its
// source has, and out of a tunnel if policy protects what goes there. Pointers are of the snapshot.
// Returns 0, -EINVAL (not of one family), -EHOSTUNREACH (there is no route back), -EADDRINUSE (the
// source is an address of the gateway) or -ENOMEM.
int match_run(struct match *m, const struct snapshot *s, const struct match_query *q);
