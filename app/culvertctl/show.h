// SPDX-License-Identifier: BSD-3-Clause
// What there is to see in a daemon: one line in one table for each word of "culvertctl show", which
// the daemon has as "/culvert/WORD"; and the filters of "flush" and "trace". One thread.
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
	const char *nonzero; // counter: objects where it is 0 are shown on request only; or NULL
	bool single;         // the list has one object: its items are shown below each other
};

// Of "flush flows", and of "trace".
extern const struct show show_flush_flows, show_trace;

// NULL if there is none of that name.
const struct show *show_find(const char *word);

// The word that was probably meant, or NULL if none is near.
const char *show_nearest(const char *word);

// Writes the words with their help, one on each line.
void show_help(FILE *out);

// Removes the objects whose counter show->nonzero, which is not NULL, is 0.
void show_remove_zero(const struct show *show, json_t *objects);
