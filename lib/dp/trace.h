// SPDX-License-Identifier: BSD-3-Clause
// Tracing: what happens to the next packets that match a filter, step by step. While it is off, a
// pass tests one pointer, and so does what is unusual about a packet; the rest of the packet path
// is compiled twice (pipeline.c).
//
// While it is on, a worker notes every step of every packet; at the end of the pass those of
// packets that have matched go to a log, which the control thread's side reads while workers write.
// Neither ever waits. Of packets only headers are kept, of SAs only names.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>

#include "trace_filter.h"
#include "worker.h"

#define TRACE_PACKETS_MAX 1000
#define TRACE_STEPS_MAX   10000 // of one trace; those behind them are counted only
#define TRACE_PASS_MAX    4096  // steps of one worker's pass; the same
#define TRACE_NAME_MAX    32

enum trace_kind {
#define TRACE(id, stage, names, decision) TRACE_##id,
#include "trace.def"
#undef TRACE
	TRACE_KINDS
};

enum trace_names {
	TRACE_NAMES_NOTHING,
	TRACE_NAMES_SA,
	TRACE_NAMES_POLICY,
	TRACE_NAMES_RULE,
	TRACE_NAMES_FLOW
};

struct trace_info {
	const char *stage;
	const char *decision;
	enum trace_names names;
};

extern const struct trace_info trace_info[TRACE_KINDS];

struct trace_step {
	uint64_t tsc;
	uint32_t packet; // its number, from 1
	uint8_t worker;
	uint8_t kind;        // enum trace_kind
	uint8_t reason;      // enum drop, of TRACE_DROPPED
	uint16_t len;        // octets of the packet now; of what came in and goes out, of the frame
	uint16_t before;     // and before the step; 0: the same
	uint16_t port;       // where it came in, or is to leave; PORTS_MAX: says nothing
	uint16_t mtu;        // of the way, where the size mattered; 0: it did not
	uint32_t pieces;     // of TRACE_FRAGMENTED
	uint64_t seq;        // of ESP, all 64 bits; 0: none
	struct ip_addr next; // the next hop; none: says nothing
	struct rte_ether_addr mac;  // of it; zero: says nothing
	char name[TRACE_NAME_MAX];  // of what trace_info says
	struct trace_header header; // the outermost IP header, or ARP
};

// What a stage knows about a step besides the packet. Zero is "says nothing".
struct trace_fact {
	const char *name;
	const struct ip_addr *next;
	enum drop reason;
	uint16_t before, mtu, port; // port: 1 + its number
	uint32_t pieces;
	uint64_t seq;
};

struct trace;

// Control thread's side, one thread at a time

// Memory for traces of n workers. NULL with errno ENOMEM. Off.
struct trace *trace_new(unsigned int n_workers);

// When no worker uses it any more. NULL is fine.
void trace_free(struct trace *t);

// Begins a trace of packets, 1 to TRACE_PACKETS_MAX: forgets what was traced before. Workers
// must not use t: before they see it in worker.trace, or after they have passed on from it (QSBR).
void trace_begin(struct trace *t, const struct trace_filter *filter, uint32_t packets);

// Packets traced so far, and whether there is nothing more to come.
uint32_t trace_packets(const struct trace *t);
bool trace_done(const struct trace *t);

// Steps that found no room.
uint32_t trace_lost(const struct trace *t);

// Step number i of the log, from 0, or NULL if it is not there (yet). A packet's steps follow on
// each other, but for those of a packet that has waited.
const struct trace_step *trace_step_at(const struct trace *t, uint32_t i);

// Workers

// Notes a step of a packet, if that is traced.
void trace_record(
	struct worker *w, const struct pkt *p, enum trace_kind kind, const struct trace_fact *fact);

// The same for stages that are compiled once.
static __rte_always_inline void trace_note(
	struct worker *w, const struct pkt *p, enum trace_kind kind, struct trace_fact fact)
{
	if (unlikely(w->tracing != NULL))
		trace_record(w, p, kind, &fact);
}

// A policy has been asked for, or NULL: none matches. Only while w->tracing.
void trace_policy(struct worker *w, const struct pkt *p, const struct spd_policy *policy);

// The rest is for the traced pass alone, in this order.

// Takes note of the trace that is asked for. False: there is none any more.
bool trace_pass_begin(struct worker *w);

// A packet begins: came in as a frame, or was made here.
void trace_came_in(struct worker *w, struct pkt *p);
void trace_made(struct worker *w, struct burst *b);

// A step of every packet of a burst.
void trace_burst(struct worker *w, const struct burst *b, enum trace_kind kind);

// An entry of the flow table decides: the flow's state, and the policy that it stands for.
void trace_flow(struct worker *w, const struct pkt *p, const struct flow *f);

// Out of an SA, or into one: with the sequence number, and octets before.
void trace_opened(struct worker *w, const struct pkt *p, uint64_t seq);
void trace_sealed(struct worker *w, const struct pkt *p, uint64_t seq, uint16_t before);

// Sent, or held, n packets of a burst that output_burst() has emptied.
void trace_output(struct worker *w, const struct burst *b, uint16_t n);

void trace_pass_end(struct worker *w);
