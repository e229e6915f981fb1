// SPDX-License-Identifier: BSD-3-Clause
// The commands of culvertctl: each writes its result to standard output, or what went wrong to
// standard error, and returns the exit code. One thread.
#pragma once

#include <stdbool.h>

enum exit_code {
	EXIT_OK,
	EXIT_FAILED,
	EXIT_USAGE, // the command line needs a change
};

struct options {
	const char *instance; // NULL: the only one that runs
	bool json;            // an array of objects instead of a table
};

// The running instances.
enum exit_code command_list(const struct options *options);

// words: what to show (show.h) and perhaps "all", or filters and their values; ends with NULL.
enum exit_code command_show(const struct options *options, char **words);

// words: "flows", perhaps filters and their values; ends with NULL.
enum exit_code command_flush(const struct options *options, char **words);
