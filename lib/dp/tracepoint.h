// SPDX-License-Identifier: BSD-3-Clause
// Where the packet path is traced (lib/trace). The stages that most packets go through are compiled
// twice (meson.build): a pass runs those compiled with TRACED only while packets are traced, so
// that tracing costs nothing else. Other stages test w->tracing. Workers.
#pragma once

#include "trace.h"
#include "worker.h"

#ifndef TRACED
#define TRACED 0
#endif

// Data of a step besides the packet. Zero stands for unknown.
struct trace_fact {
	const char *name;
	const struct ip_addr *next;
	enum drop reason;
	uint16_t before, mtu, port; // port: 1 + its number
	uint32_t pieces;
	uint64_t seq;
};

// Records a step of a packet, if that is traced.
void trace_record(
	struct worker *w, const struct pkt *p, enum trace_kind kind, const struct trace_fact *fact);

// The same for stages that are compiled once.
static __rte_always_inline void trace_note(
	struct worker *w, const struct pkt *p, enum trace_kind kind, struct trace_fact fact)
{
	if (unlikely(w->tracing != NULL))
		trace_record(w, p, kind, &fact);
}

// A packet is handed over: h->p is a copy of p, which ends here. And taken back, p being a copy of
// h->p, where there is no room for it.
void trace_hand(struct worker *w, struct handed *h, const struct pkt *p);
void trace_take(struct worker *w, struct pkt *p, const struct handed *h);

// A packet that another worker has handed over, p being a copy of h->p, continues.
void trace_continued(struct worker *w, struct pkt *p, const struct handed *h);

// The same for all such packets, traced or not.
static __rte_always_inline void trace_continue(
	struct worker *w, struct pkt *p, const struct handed *h)
{
	if (unlikely(w->tracing != NULL || h->trace != 0))
		trace_continued(w, p, h);
}

// The result of a policy lookup; NULL: none matches. Only while w->tracing.
void trace_policy(struct worker *w, const struct pkt *p, const struct spd_policy *policy);

// The rest is for the traced pass alone, in this order.

// Loads the trace that is to be written. False: there is none any more.
bool trace_pass_begin(struct worker *w);

// Whether a pass that was called without TRACED is to run with it.
static __rte_always_inline bool trace_begins(struct worker *w)
{
	return !TRACED && unlikely(w->tracing != NULL) && trace_pass_begin(w);
}

// First steps: of a received frame; of packets that the gateway originates; and of a packet of the
// host, without its Ethernet header.
void trace_received(struct worker *w, struct pkt *p);
void trace_originated(struct worker *w, struct burst *b);
void trace_from_host(struct worker *w, struct pkt *p);

// A step of every packet of a burst.
void trace_burst(struct worker *w, const struct burst *b, enum trace_kind kind);

// A cached decision is used: the flow's state, and the policies that the decision was made by, as
// numbers.
void trace_flow(
	struct worker *w, const struct pkt *p, const struct flow *f, union flow_deciders by);

// Decapsulated from an SA, or encapsulated: with the sequence number, and octets before.
void trace_opened(struct worker *w, const struct pkt *p, uint64_t seq);
void trace_sealed(struct worker *w, const struct pkt *p, uint64_t seq, uint16_t before);

// Sent or held: n packets of a burst that output_send() has emptied.
void trace_output(struct worker *w, const struct burst *b, uint16_t n);

void trace_pass_end(struct worker *w);
