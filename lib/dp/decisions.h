// SPDX-License-Identifier: BSD-3-Clause
// Counters of decisions by policies or rules.
#pragma once

#include <stdint.h>

#include "sa.h"

// Counters of one policy or rule.
struct decided {
	uint64_t asked;   // lookups that it matched: mostly the first packet of each direction
	uint64_t packets; // packets that it decided, also by cached decisions of flows
	uint64_t octets;  // of IP packets, of these
	uint64_t next; // TSC: before that, the worker does not ask for an SA of the policy again,
		       // or report that the rule of nat found no port
};

// Of all policies or all rules, by number.
struct decisions {
	struct decided *worker[SA_WORKERS_MAX]; // each written by that worker alone
};

// For numbers below n. Returns NULL with errno ENOMEM. Load or control thread.
struct decisions *decisions_new(unsigned int n, unsigned int n_workers);

// NULL is allowed. Control thread.
void decisions_free(struct decisions *d);

// The sum for a number. Any thread.
struct decided decisions_sum(const struct decisions *d, unsigned int number);

// Lets a number count from 0, which no worker uses. Control thread.
void decisions_reset(struct decisions *d, unsigned int number);

static inline void decided_add(struct decided *d, uint32_t packets, uint64_t octets)
{
	d->packets += packets;
	d->octets += octets;
}
