// SPDX-License-Identifier: BSD-3-Clause
// All SAs, and the numbers that keys have used. Snapshots refer to SAs. An SA with equal parameters
// in two snapshots is one object, so that it keeps its numbers, window, counters and lifetime.
// Numbers continue even if the SA does not: an SA with the same key but other settings, or one that
// is added again, starts after the highest number used. Called by the control thread, or the load
// thread that builds a snapshot for it, never by both at once: nothing is retired during a build.
#pragma once

#include "sa.h"

// Numbers that workers with the old snapshot can use while a new one is published. Of the same
// order as the numbers that SA_ESN_MAX leaves.
#define SA_REGISTRY_AHEAD UINT16_MAX

struct sa_registry;

// NULL without memory.
struct sa_registry *sa_registry_new(void);

// Adds a user of the registry, which has to free it too. A taken SA does not hold the registry: its
// user does.
struct sa_registry *sa_registry_share(struct sa_registry *r);

// Removes a user; the last one frees the registry, after all SAs have been given back. NULL is
// allowed.
void sa_registry_free(struct sa_registry *r);

// An existing SA with these parameters, or a new one, to be given back as often as it was taken.
// NULL with errno as of sa_out_new(), and nothing has changed. What follows allocates nothing.
struct sa_out *sa_registry_out_take(struct sa_registry *r, const struct sa_params *p);
struct sa_in *sa_registry_in_take(struct sa_registry *r, const struct sa_params *p);

// Sets the first number. Call just before workers see the SA for the first time; later calls do
// nothing.
void sa_registry_out_begin(struct sa_registry *r, struct sa_out *sa);
void sa_registry_in_begin(struct sa_registry *r, struct sa_in *sa);

// Gives an SA back, once no worker can reach it through the snapshot that took it. The last one
// frees it.
void sa_registry_out_give(struct sa_registry *r, struct sa_out *sa);
void sa_registry_in_give(struct sa_registry *r, struct sa_in *sa);
