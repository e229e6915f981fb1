// SPDX-License-Identifier: BSD-3-Clause
// What the words behind "show" and "flush" ask a daemon for. One thread.
#pragma once

#include <stdbool.h>

#include "client.h"
#include "output.h"
#include "show.h"

struct question {
	const struct show *what;
	bool all;                       // also objects whose counter is 0
	char filter[CLIENT_FILTER_MAX]; // as of client_list()
};

// Reads the words behind "show": what to show and perhaps "all", or filters and their values.
enum exit_code question_read_show(struct question *q, char **words);

// Reads the words behind "flush": "flows", and perhaps filters and their values.
enum exit_code question_read_flush(struct question *q, char **words);

// Reads the words behind "trace": filters and their values.
enum exit_code question_read_trace(struct question *q, char **words);

// Prints objects, the answer, as a table.
enum exit_code question_print(const struct question *q, json_t *objects, FILE *out);
