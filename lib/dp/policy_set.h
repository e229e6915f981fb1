// SPDX-License-Identifier: BSD-3-Clause
// What belongs to policies besides what they say, by place: for the configuration's in a snapshot,
// and for those of an IKE daemon (ike_objects.h). Made by the load or control thread.
#pragma once

#include "decisions.h"
#include "line_memory.h"
#include "spd.h"

struct policy_set {
	// The SA that the policy sends through; NULL: none. The control thread replaces those of
	// IKE's policies.
	struct sa_out *_Atomic *out;
	struct decisions *decisions; // counters: see there who writes
};

// For n policies. False: there is no memory.
static inline bool policy_set_init(struct policy_set *set, unsigned int n, unsigned int n_workers)
{
	set->out = line_calloc(n + 1, sizeof(set->out[0]));
	set->decisions = decisions_new(n, n_workers);
	return set->out != NULL && set->decisions != NULL;
}

static inline void policy_set_fini(struct policy_set *set)
{
	line_free(set->out);
	decisions_free(set->decisions);
}
