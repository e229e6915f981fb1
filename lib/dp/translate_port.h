// SPDX-License-Identifier: BSD-3-Clause
// The source port of a new flow whose source is translated (RFC 3022, RFC 6056). Workers.
#pragma once

#include "flow_port.h"
#include "worker.h"

// Whether programs of this gateway, which peers send to, have the UDP port of an own address: those
// of IKE and ESP in UDP. False for other addresses. Any thread.
bool translate_port_serves(const struct snapshot *s, const struct ip_addr *own, rte_be16_t port);

// Whether programs of this gateway, which peers send to, have the port of an own address: those of
// IKE and ESP in UDP.
bool translate_serves(
	const struct worker *w, const struct pkt *p, const struct ip_addr *own, rte_be16_t port);

// A choice that has begun: the ports that are tried first.
struct port_choice {
	const struct nat_rule *rule; // that it is made by; NULL: the port stays
	uint32_t next;               // port from which on others are tried
	unsigned int n, n_own;       // of them, and those of them that the packet has: 0 or 1
	rte_be16_t port[FLOW_PORTS_AT_ONCE];
	uint32_t hash[FLOW_PORTS_AT_ONCE];
};

// Without a rule for sources, for where rules for destinations lead several connections of a client
// from one port to one server.
extern const struct nat_rule translate_no_rule;

// Begins the choice of a port, or of the identifier of an ICMP query, for the source and the
// destination of w->translation: that of the packet if the rule allows it.
void translate_port_begin(struct worker *w, const struct pkt *p, const struct flow_pkt *fp,
	const struct nat_rule *rule, struct port_choice *c);

// Begins that of others where the packet's own seems in use.
void translate_port_look(
	struct worker *w, const struct pkt *p, const struct flow_pkt *fp, struct port_choice *c);

// Prefetches the bucket that is read next of these.
void translate_port_look_again(struct worker *w, const struct port_choice *c);

// Takes the first port that no other flow has towards the destination, if one is chosen. Returns
// DROP_NONE; DROP_NAT_PORTS: none was found; DROP_NAT_LIMIT: nor may the source or its peer have
// another, which flow_insert() refuses otherwise.
enum drop translate_port(struct worker *w, const struct pkt *p, const struct flow_pkt *fp,
	const struct port_choice *c);

// Whether another flow has got the port that was taken, such as that of an earlier packet of the
// burst.
bool translate_port_is_lost(
	const struct worker *w, const struct flow_pkt *fp, const struct port_choice *c);
