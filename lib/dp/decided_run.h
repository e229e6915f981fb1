// SPDX-License-Identifier: BSD-3-Clause
// Counters of policies and rules for cached decisions of flows. Workers: each has its own.
#pragma once

#include "egress.h"

// This worker's counters of a rule.
static inline struct decided *decided_of_rule(const struct worker *w, uint32_t rule)
{
	return &w->snapshot->objects->decisions[DECIDER_RULE]->worker[w->id][rule];
}

// Counters of a policy. Those of number 0 are of none, and nobody reads them.
static inline struct decided *decided_of_policy(const struct worker *w, uint16_t policy)
{
	return &w->snapshot->objects->decisions[DECIDER_POLICY]->worker[w->id][policy];
}

// Consecutive packets of a burst that were decided by the same policies and rule: with one tunnel
// mostly all of it. They are counted at once, after the burst.
struct decided_run {
	union flow_deciders by;
	struct decided *in, *out; // of the policies
	uint32_t packets;
	uint16_t in_by; // of the packets: a policy admits them out of SAs, or in clear
	uint64_t octets;
	struct egress to; // where the last one went
};

static __rte_always_inline void decided_run_count(
	const struct worker *w, const struct decided_run *r)
{
	decided_add(r->in, r->packets, r->octets);
	decided_add(r->out, r->packets, r->octets);
	decided_add(decided_of_rule(w, r->by.rule), r->packets, r->octets);
}

// Begins the run of a packet after the last one, whose counters are prefetched: with many tunnels
// they are in no near cache. none: the counters of policy 0.
static __rte_always_inline struct decided_run *decided_run_begin(
	struct decided *none, struct decided_run *last, union flow_deciders by, const struct pkt *p)
{
	struct decided_run *r = last + 1;

	r->by = by;
	r->in = none + r->by.in;
	r->out = none + r->by.out;
	__builtin_prefetch(r->in, 1);
	__builtin_prefetch(r->out, 1);
	r->packets = 0;
	r->octets = 0;
	r->in_by = p->sa_in != NULL ? r->by.in : 0;
	r->to = last->to;
	return r;
}

static __rte_always_inline void decided_run_add(struct decided_run *r, uint64_t octets)
{
	r->packets++;
	r->octets += octets;
}
