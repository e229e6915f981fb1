// SPDX-License-Identifier: BSD-3-Clause
// The SAs there are, and the numbers that keys have used. Snapshots come and go and refer to SAs;
// an SA that two of them describe in the same way is one object, so that its numbers, its window,
// its counters and its lifetime go on. Numbers go on even where the SA does not: one with other
// settings but the same key, or one that comes back, begins behind what was used. The control
// thread, or the one that builds a snapshot for it: never both at once, as nothing is retired while
// something is built.
#pragma once

#include "sa.h"

// How far workers that still see an old snapshot can get while a new one is published. Of the same
// order as the room that SA_ESN_MAX leaves.
#define SA_REGISTRY_AHEAD UINT16_MAX

struct sa_registry;

// NULL without memory.
struct sa_registry *sa_registry_new(void);

// The same one, which has to be freed once more. SAs hold nothing: who takes them shares it.
struct sa_registry *sa_registry_share(struct sa_registry *r);

// The SAs have to have been given back when the last one frees it. NULL is fine.
void sa_registry_free(struct sa_registry *r);

// The SA that is described, from among those there are or a new one, to be given back once for each
// time. NULL with errno as of sa_out_new(), and nothing has
// changed. What follows allocates nothing.
struct sa_out *sa_registry_out_take(struct sa_registry *r, const struct sa_params *p);
struct sa_in *sa_registry_in_take(struct sa_registry *r, const struct sa_params *p);

// Just before workers see it for the first time. Afterwards nothing happens.
void sa_registry_out_begin(struct sa_registry *r, struct sa_out *sa);
void sa_registry_in_begin(struct sa_registry *r, struct sa_in *sa);

// When workers do not see it any more by whom it was taken for. The last one frees it.
void sa_registry_out_give(struct sa_registry *r, struct sa_out *sa);
void sa_registry_in_give(struct sa_registry *r, struct sa_in *sa);
