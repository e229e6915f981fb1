// SPDX-License-Identifier: BSD-3-Clause
// What the counters of a daemon were when "culvertctl clear" was called: a file in the folder of
// the instance, which holds as long as the daemon runs. Only culvertctl looks at it: the daemon and
// its metrics go on counting. A failure ends the program, as in ask.h. One thread.
#pragma once

#include <jansson.h>

// Takes all counters that there are for 0.
void baseline_take(const char *instance);

// Shows counters since the start of the daemon again.
void baseline_remove(const char *instance);

// Subtracts from the counters of objects, of that list, what they were then, and says on standard
// error since when they are shown. Without a baseline it does nothing.
void baseline_subtract(const char *instance, const char *list, json_t *objects);
