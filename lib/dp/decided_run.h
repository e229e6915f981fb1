// SPDX-License-Identifier: BSD-3-Clause
// Counters of policies and rules for cached decisions of flows. Workers: each has its own.
#pragma once

#include "worker.h"

// This worker's counters of a rule.
static inline struct decided *decided_of_rule(const struct worker *w, uint32_t rule)
{
	return &w->snapshot->objects->decisions[DECIDER_RULE]->worker[w->id][rule];
}

// Counters of a policy; NULL: the number is 0.
static inline struct decided *decided_of_policy(const struct worker *w, uint16_t policy)
{
	return policy != 0 ? &w->snapshot->objects->decisions[DECIDER_POLICY]->worker[w->id][policy]
			   : NULL;
}

// Consecutive packets of a burst that were decided by the same policies and rule: with one tunnel
// mostly all of it. They are counted at once, after the burst.
struct decided_run {
	union flow_deciders by;
	struct decided *in, *out; // of the policies; NULL: there is none
	uint32_t packets;
	uint64_t octets;
};

static __rte_always_inline void decided_run_count(
	const struct worker *w, const struct decided_run *r)
{
	if (r->in != NULL)
		decided_add(r->in, r->packets, r->octets);
	if (r->out != NULL)
		decided_add(r->out, r->packets, r->octets);
	if (r->by.rule != 0)
		decided_add(decided_of_rule(w, r->by.rule), r->packets, r->octets);
}

// Adds a packet to the last run, or to the next one, whose counters and SA are prefetched: with
// many tunnels they are in no near cache. Returns the run.
static __rte_always_inline struct decided_run *decided_run_add(const struct worker *w,
	struct decided_run *r, union flow_deciders by, const struct sa_out *sa, uint16_t octets)
{
	if (likely(r->by.all == by.all)) {
		r->packets++;
		r->octets += octets;
		return r;
	}
	*++r = (struct decided_run){
		.by = by,
		.in = decided_of_policy(w, by.in),
		.out = decided_of_policy(w, by.out),
		.packets = 1,
		.octets = octets,
	};
	__builtin_prefetch(r->in, 1);
	__builtin_prefetch(r->out, 1);
	if (sa != NULL)
		sa_out_prefetch(sa, w->sa_place);
	return r;
}
