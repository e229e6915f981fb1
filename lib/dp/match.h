// SPDX-License-Identifier: BSD-3-Clause
// The decisions for a packet that is not sent: the functions of the slow path, with a packet and
// counters made for the purpose. Any thread that keeps the snapshot alive.
#pragma once

#include "worker.h"

struct match_query {
	struct ip_addr source, destination; // of one family
	uint8_t proto;
	uint16_t source_port, destination_port; // host byte order; of protocols that have ports
};

struct match {
	enum drop reason;               // DROP_NONE: forwarded, answered, or for the host
	bool local;                     // addressed to the gateway, and not for the host
	bool host;                      // a rule admits it for the host behind a port
	uint16_t iface;                 // number of its ingress
	const struct sa_in *sa_in;      // that it is decapsulated from; NULL: received in clear
	const struct spd_policy *in_by; // the inbound policy that decides; NULL: none
	const struct spd_policy *out_by;
	const struct nat_rule *nat[NAT_ENDS]; // that translate it; NULL: none does
	struct ip_ends to; // its ends as it is sent; if translated with ports, which may be others
			   // for the next packet
	const struct rule *rule; // NULL: not evaluated
	const struct nexthop
		*nexthop;            // on the route to the destination, or to the peer; NULL: none
	const struct sa_out *sa_out; // that encapsulates it; NULL: sent in clear
	uint16_t mtu; // octets of the largest IP packet that fits; 0: it is not forwarded
};

// Evaluates the first packet of a connection, as a worker would with the snapshot; of the worker it
// reads only the hosts behind ports, the states of own addresses, and which ports flows use. Its
// ingress is the port of the route to its source, and the tunnel if policy protects packets to
// there. Pointers are of the snapshot. Returns 0, -EINVAL (not of one family), -EHOSTUNREACH (there
// is no route back), -EADDRINUSE (the source is an address of the gateway) or -ENOMEM.
int match_run(struct match *m, const struct worker *as, const struct snapshot *s,
	const struct match_query *q);
