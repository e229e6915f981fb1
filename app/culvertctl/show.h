// SPDX-License-Identifier: BSD-3-Clause
// What there is to see in a daemon: one line in one table for each word of "culvertctl show", and
// how its rows become a table. One thread.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

struct show {
	const char *word; // also the end of the daemon's command: "/culvert/" word
	const char *help;
	const char *nonzero; // counter: objects where it is 0 are shown on request only; or NULL
	bool single;         // the list has one object: its items are shown below each other
};

// NULL if there is none of that name.
const struct show *show_find(const char *word);

// The word that was probably meant, or NULL if none is near.
const char *show_nearest(const char *word);

// Writes the words with their help, one on each line.
void show_help(FILE *out);

// The rows of the table, made from the objects of the daemon: a new reference, or NULL if
// memory is short; objects may be changed. all: those with a zero counter too.
json_t *show_rows(const struct show *show, json_t *objects, bool all);
