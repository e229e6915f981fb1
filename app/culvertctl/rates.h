// SPDX-License-Identifier: BSD-3-Clause
// How fast counters grow: compares two answers to one question. One thread.
#pragma once

#include <jansson.h>

// An answer and when it came.
struct sample {
	json_t *objects; // array
	double at;       // seconds of a clock that never steps
};

// Now is the time; objects become the sample's.
struct sample sample_of(json_t *objects);

// A zeroed one is allowed.
void sample_fini(struct sample *s);

// Adds after each counter of the list its growth in a second, NAME/s, for objects that are in both
// samples. Returns new objects, or NULL if memory is short.
json_t *rates_add(const char *list, const struct sample *before, const struct sample *now);

// The rate of an object of rates_add(), 0 if there is none.
double rates_get(const json_t *object, const char *counter);
