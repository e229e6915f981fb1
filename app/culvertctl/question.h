// SPDX-License-Identifier: BSD-3-Clause
// Queries: the words behind "show", "flush" and "trace". A mistake in them ends the program,
// after a message. One thread.
#pragma once

#include <stdbool.h>

#include "client.h"
#include "command.h"
#include "show.h"

struct question {
	const struct show *what;
	bool all;                       // also objects whose counter is 0
	bool wide;                      // all columns
	const char *name;               // of the objects that are shown; NULL: all
	char filter[CLIENT_FILTER_MAX]; // as of client_list()
};

// Reads the words behind "show": what to show and perhaps "all", the name of an object, or filters
// and their values. The words stay the caller's and outlive the question.
void question_read_show(struct question *q, const struct options *options, char **words);

// Reads the words behind "flush": "flows", and perhaps filters and their values.
void question_read_flush(struct question *q, char **words);

// Reads the words behind "trace": filters and their values.
void question_read_trace(struct question *q, char **words);

// Removes from the objects, the answer, those of other names than the query's. It is an error if
// none is left.
void question_choose(const struct question *q, json_t *objects);

// Prints objects, the answer, as a table, and single ones with all their fields below each other.
void question_print(const struct question *q, json_t *objects, FILE *out);
