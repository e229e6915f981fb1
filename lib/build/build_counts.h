// SPDX-License-Identifier: BSD-3-Clause
// What policies and rules have counted is carried over to those that replace them. Private to
// lib/build.
#pragma once

#include "snapshot.h"

// Allocates what build_counts_carry() needs. Returns 0 or -ENOMEM.
int build_counts_prepare(struct snapshot *s, const struct snapshot *running);

// Adds what the old snapshot counted for each policy and rule that is also in s, in the same words
// but for its SAs. No worker sees the old one any more.
void build_counts_carry(struct snapshot *s, const struct snapshot *old);
