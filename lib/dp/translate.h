// SPDX-License-Identifier: BSD-3-Clause
// Network address translation (RFC 3022), in the order of Linux: the destination before the route
// is looked up, the source after it; rules see the translated destination and the original source,
// policies of packets that are sent both ends as on the wire. A packet keeps its headers until it
// has passed, so that errors about it quote the packet that its sender sent. Workers.
#pragma once

#include "flow.h"
#include "translate_port.h"
#include "worker.h"

// Begins the evaluation of a packet of the flow f, or of a new one (NULL): from here on its
// destination is the translated one. False: nothing is translated before the route is known.
bool translate_begin(
	struct worker *w, const struct pkt *p, const struct flow_pkt *fp, const struct flow *f);

// Whether the flow was translated to the address of a port that has it no longer: its packets would
// be sent with an address of others.
bool translate_is_void(const struct worker *w, const struct flow *f);

// Whether rules for sources decide about the packet of a new flow, once its route is known. Sets
// *key then, by which they are found.
bool translate_asks_source(const struct worker *w, const struct pkt *p, struct classifier_key *key);

// Chooses the source address that the packet gets by the rule, NULL: none, and begins the choice of
// a port, if it gets another. Returns DROP_NONE, or DROP_NAT_PORTS: there is no address.
enum drop translate_source(struct worker *w, const struct pkt *p, const struct flow_pkt *fp,
	const struct nat_rule *rule, struct port_choice *port);

// The ends of the packet that is evaluated: as rules see them, and as they are on the wire.
static inline struct ip_addr translate_dst(const struct worker *w, const struct pkt *p)
{
	return unlikely(worker_translates(w)) ? w->translating->flow.to.dst : pkt_dst(p);
}

static inline struct ip_view translate_view_rules(const struct worker *w, const struct pkt *p)
{
	struct ip_view v = pkt_view(p);

	if (unlikely(worker_translates(w))) {
		v.dst = w->translating->flow.to.dst;
		if (v.has_ports)
			v.dst_port = w->translating->flow.to.dst_port;
	}
	return v;
}

static inline struct ip_view translate_view_wire(const struct worker *w, const struct pkt *p)
{
	struct ip_view v = translate_view_rules(w, p);

	if (unlikely(worker_translates(w))) {
		v.src = w->translating->src;
		if (v.has_ports)
			v.src_port = w->translating->flow.to.src_port;
	}
	return v;
}

// Gives the packet that is quoted by the error which is evaluated the ends that it had when it was
// received, if its flow is translated.
void translate_quoted(const struct worker *w, struct ip_view *quoted);

// Whether the packet was evaluated with the ends that its flow f gives it. False: another worker
// has made the flow meanwhile, and the packet has to be evaluated again.
bool translate_fits(const struct worker *w, const struct flow_pkt *fp, const struct flow *f);

// The translation of the packet that is evaluated, for its flow; NULL: it is not translated.
const struct flow_translation *translate_of(const struct worker *w);

// Counts by rule the flow that the packet being evaluated begins, or for lack of a port does not:
// then the control thread gets an event, at most one in ten seconds for each rule.
void translate_count(struct worker *w, const struct pkt *p, enum drop d);

// Rewrites a packet of a translated flow that has passed.
void translate_packet(
	struct worker *w, struct pkt *p, const struct flow_pkt *fp, const struct flow *f);

// The ends of a packet that an error is to be sent about, as its sender sent it: it may be
// translated already. Their ports are set only then. Returns whether its destination is translated,
// or will be.
bool translate_sent(const struct worker *w, const struct pkt *p, struct ip_ends *sent);

// Sets the same in a packet that is to be held, for errors while w->failed is that.
void translate_hold(const struct worker *w, struct held *h);

// Turns an error of the gateway about such a packet into one about the packet as it was received.
void translate_error(const struct worker *w, const struct pkt *about, struct pkt *error);
