// SPDX-License-Identifier: BSD-3-Clause
// What there is to see in a daemon: one line in one table for each word of "culvertctl show", and
// how its rows become a table. What "culvertctl flush" does is a list to the daemon, too: of what
// it did. One thread.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

struct show {
	const char *word;
	const char *command; // of the daemon, behind "/culvert/"; NULL: the word
	const char *help;
	const char *const *filters; // words that choose objects by a value, up to NULL; or NULL
	const char *nonzero; // counter: objects where it is 0 are shown on request only; or NULL
	const char *const *keys; // items that tell objects apart, up to NULL; NULL: there is one
	const char *const *counters; // items that only grow, up to NULL; or NULL
	bool single; // the list has one object: its items are shown below each other
};

// Of "flush flows", and of "trace".
extern const struct show show_flush_flows, show_trace;

// NULL if there is none of that name.
const struct show *show_find(const char *word);

// The daemon's name of the list, behind "/culvert/".
const char *show_command(const struct show *show);

// The word that was probably meant, or NULL if none is near.
const char *show_nearest(const char *word);

// Writes the words with their help, one on each line.
void show_help(FILE *out);

// The rows of the table, made from the objects of the daemon: a new reference, or NULL if
// memory is short; objects may be changed. all: those with a zero counter too.
json_t *show_rows(const struct show *show, json_t *objects, bool all);
