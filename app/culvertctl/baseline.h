// SPDX-License-Identifier: BSD-3-Clause
// What the counters of a daemon were when "culvertctl clear" was called: a file in the folder of
// the instance, which holds as long as the daemon runs. Only culvertctl looks at it: the daemon and
// its metrics go on counting. One thread.
#pragma once

#include "ask.h"

// Takes all counters that there are for 0.
enum exit_code baseline_take(const struct target *t);

// Shows counters since the start of the daemon again.
enum exit_code baseline_remove(const struct target *t);

// Subtracts from the counters of objects, of that list, what they were then, and says on standard
// error since when they are shown. Without a baseline it does nothing.
enum exit_code baseline_subtract(const struct target *t, const char *list, json_t *objects);
