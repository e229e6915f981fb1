// SPDX-License-Identifier: BSD-3-Clause
// What the control thread has and has counted, as views: the source of culvertctl's lists and of
// the metrics, which lib/stats/field.def describes. Items of a list have numbers from 0 on; each
// function fills in the view of one and returns false behind the last. Any thread that holds the
// gateway's lock; without it, what a view points to may be gone, so names that are labels of
// metrics are copied. Workers run meanwhile: numbers of one view are of slightly different moments.
#pragma once

#include "view.h"

// By the names that lib/stats/field.def has for them. The outbound SAs come first, the fallback
// rule last.
bool collect_stage(void *view, const struct control *c, unsigned int i);
bool collect_sa(void *view, const struct control *c, unsigned int i);
bool collect_tunnel(void *view, const struct control *c, unsigned int i);
bool collect_policy(void *view, const struct control *c, unsigned int i);
bool collect_rule(void *view, const struct control *c, unsigned int i);
bool collect_route(void *view, const struct control *c, unsigned int i);
bool collect_neighbour(void *view, const struct control *c, unsigned int i);
bool collect_drop(void *view, const struct control *c, unsigned int i);

// Numbers of the SAs that carry most now, the busiest first. Returns how many.
#define SA_BUSIEST 16
unsigned int collect_busiest(const struct control *c, unsigned int number[SA_BUSIEST]);

// The sum over workers and control thread. Any thread, without the lock.
struct counters collect_counters(const struct control *c);

// Packets dropped for any reason.
uint64_t counters_drops(const struct counters *c);
