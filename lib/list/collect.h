// SPDX-License-Identifier: BSD-3-Clause
// State and counters of the control thread, as views: the source of culvertctl's lists and of the
// metrics, which lib/stats/field.def describes. Items of a list have numbers from 0 on; each
// function fills in the view of one and returns false after the last. Any thread that holds the
// gateway's lock; without it, the memory that a view points to may be gone, so names that are
// labels of metrics are copied. Workers run meanwhile: numbers of one view are of slightly
// different moments.
#pragma once

#include "view.h"

// A view for each list of lib/stats/field.def, except lists about the process, its ports and
// workers, which are in the daemon. The outbound SAs come first, the fallback rule last.
#define LIST(list, help) bool collect_##list(void *view, const struct control *c, unsigned int i);
#include "field.def"

// The SA of an IKE daemon with this name; false: there is none.
bool collect_ike_sa(struct sas_view *v, const struct control *c, const char *name);

// The view of an entry of the neighbour table.
void collect_neighbour_of(
	struct neighbours_view *v, const struct control *c, const struct neigh_view *n);

// The names of the rules that translate destination and source, as far as there are any.
void nat_rules_write(char text[NAT_RULES_STRLEN], const struct nat_rule *const rule[NAT_ENDS]);

// The tunnel of number i and its policy; NULL after the last.
const struct tunnel *collect_tunnel(
	const struct control *c, unsigned int i, const struct spd_policy **p);

// Counts tunnels by state. Returns how many there are.
uint64_t collect_tunnel_states(uint64_t count[TUNNEL_STATES], const struct control *c);

// The sum over workers and control thread.
struct counters collect_counters(const struct control *c);

// Packets dropped for any reason.
uint64_t counters_drops(const struct counters *c);
