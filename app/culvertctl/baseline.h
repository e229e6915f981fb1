// SPDX-License-Identifier: BSD-3-Clause
// The counters of a daemon when "culvertctl clear" was called: a file in the folder of the
// instance, valid as long as the daemon runs. Only culvertctl reads it: the daemon and its metrics
// continue to count. A failure ends the program, as in ask.h. One thread.
#pragma once

#include <jansson.h>

// Takes all counters that there are for 0.
void baseline_take(const char *instance);

// Shows counters since the start of the daemon again.
void baseline_remove(const char *instance);

// Subtracts from the counters of objects, of that list, their values in the baseline, and prints
// the time of the baseline on standard error. Without a baseline it does nothing.
void baseline_subtract(const char *instance, const char *list, json_t *objects);
