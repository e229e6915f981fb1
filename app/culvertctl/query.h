// SPDX-License-Identifier: BSD-3-Clause
// Queries of a daemon: the words after "show", "flush" and "trace", and the answers of the daemon.
// The lists are those of lib/stats/field.def and two more, which the daemon has as "/culvert/WORD".
// A failure is printed on standard error, and ends the program. One thread.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "client.h"
#include "command.h"

// A list, or "flush flows", or "trace".
struct query_list {
	const char *word; // "": trace
	const char *help;
	// Words that choose objects by a value, up to NULL; NULL: names of fields.
	const char *const *filters;
	// Names of the words after it, in order, of which the first two are required; up to NULL.
	const char *const *positions; // NULL: there are none
};

// The lists of show and watch, and trace.
extern const struct query_list query_lists[];
extern const size_t query_n_lists;
extern const struct query_list query_trace;

// The i-th filter of the list, or NULL.
const char *query_filter(const struct query_list *list, unsigned int i);

struct query {
	const struct query_list *list;
	bool all;                       // also objects whose counter is 0
	bool wide;                      // all columns
	const char *name;               // of the objects that are shown; NULL: all
	char filter[CLIENT_FILTER_MAX]; // as of client_list()
};

// Writes the lists with their help, one on each line.
void query_help(FILE *out);

// Reads the words after "show": the list and perhaps "all", the name of an object, or filters and
// their values. The caller keeps ownership of the words, which outlive the query.
void query_read_show(struct query *q, const struct options *options, char **words);

// Reads the words after "flush": "flows" or "neighbours", and perhaps filters and their values.
void query_read_flush(struct query *q, char **words);

// Reads the words after "trace": filters and their values.
void query_read_trace(struct query *q, char **words);

// Requests a list of the daemon ("sas"), with a filter as of client_list(): a new array.
json_t *query_get(const char *instance, const char *list, const char *filter);

// The same, after the objects that the array has.
void query_get_more(json_t *objects, const char *instance, const char *list, const char *filter);

// Removes from the objects, the answer, those of other names than the query's. It is an error if
// none is left.
void query_choose(const struct query *q, json_t *objects);

// Prints objects, the answer, as a table, and single ones with all their fields below each other.
void query_print(const struct query *q, json_t *objects, FILE *out);
