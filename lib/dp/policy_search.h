// SPDX-License-Identifier: BSD-3-Clause
// Looks up what policy.h decides by, for the packets of a burst at once. Workers.
#pragma once

#include "worker.h"

// The policies that match a packet, inbound and outbound; NULL: none matches, or none applies. Of a
// packet out of a tunnel that routes lead into, or that is routed into one, the tunnel itself.
struct policies {
	const struct spd_policy *in, *out;
	// On the route to the source, for inbound policy; NULL: there is none, or none applies.
	const struct nexthop *back;
};

#define POLICY_KEYS_MAX (2 * RX_BURST_MAX)

// A search for policies of several packets: one lookup for all costs a fraction.
struct policy_search {
	unsigned int n;
	struct classifier_key key[POLICY_KEYS_MAX];
	const struct spd_policy **found[POLICY_KEYS_MAX];
};

// Adds a packet, at most RX_BURST_MAX, with its translation of this moment. back: the route to the
// source that it was received with. *found is valid after policy_search_end().
void policy_search_add(const struct worker *w, const struct pkt *p, const struct nexthop *back,
	struct policy_search *s, struct policies *found);
void policy_search_end(const struct snapshot *snapshot, const struct policy_search *s);

// The same for n packets, at most RX_BURST_MAX, with the routes to their sources.
void policy_find(
	const struct worker *w, struct pkt *const p[], unsigned int n, struct policies found[]);
