// SPDX-License-Identifier: BSD-3-Clause
// The differences between two configurations that concern decisions of flows: lib/build notes them
// in the later one, carry.c reads them.
#pragma once

#include "flow_region.h"
#include "rule_model.h"
#include "spd_policy.h"

#define CARRY_ENDS_MAX 8
#define CARRY_RULES    8195 // numbers of rules
#define CARRY_WORDS(n) (((n) + 63) / 64)

// Packets with one end in each prefix, in either direction.
struct carry_ends {
	struct ip_prefix one, other;
};

struct carry {
	// Between these ends a policy or rule decides that is new, or another one, or in another
	// order; or a route that has changed.
	struct carry_ends ends[CARRY_ENDS_MAX];
	unsigned int n_ends;
	// Routes have changed by themselves.
	struct flow_regions regions;
	bool rules_name_ports; // decisions by SAs are not carried then, see build_carry.c
	// A bit for each number of a policy or rule of the configuration that is the same in both.
	uint64_t policies[CARRY_WORDS(1 + SPD_MAX)], rules[CARRY_WORDS(CARRY_RULES)];
};
