// SPDX-License-Identifier: BSD-3-Clause
// The lists of "culvertctl show", which the daemon has as "/culvert/WORD": those of
// lib/stats/field.def and two more; and the filters of "flush" and "trace". One thread.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

struct show {
	const char *word;
	const char *help;
	const char *const *filters; // words that choose objects by a value, up to NULL; or NULL
	// Names of the words behind it, in order, of which the first two are required; up to NULL.
	const char *const *positions; // NULL: there are none
};

// Of "flush flows", and of "trace".
extern const struct show show_flush_flows, show_trace;

// NULL if there is none of that name.
const struct show *show_find(const char *word);

// The word that was probably meant, or NULL if none is near.
const char *show_nearest(const char *word);

// Writes the words with their help, one on each line.
void show_help(FILE *out);

// Whether only objects with packets are shown by default; removes the others.
bool show_hides_zero(const struct show *show);
void show_remove_zero(json_t *objects);
