// SPDX-License-Identifier: BSD-3-Clause
// What culvertctl takes on its command line, described once: commands, their words, and options.
// The help, the completion and the reading of options follow from these rows. One thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "command.h"

struct command {
	const char *name;
	const char *synopsis; // what follows the name
	const char *help;
	command_fn *run;
	bool alone; // takes no words
	// Writes what may follow the words, of which there are n (complete.c). NULL: nothing.
	void (*complete)(const struct options *options, char **words, size_t n);
};

extern const struct command commands[];
extern const size_t n_commands;

// NULL: there is none of that name.
const struct command *command_find(const char *name);

// Says on standard error that it is none.
enum exit_code command_unknown(const char *word);

enum {
	OPTION_VERSION = 256,
	OPTION_JSON,
	OPTION_ONCE,
	OPTION_WIDE,
	OPTION_NEW_KEYS,
	OPTION_DISCARD,
	OPTION_DRIVER,
	OPTION_FORCE,
	OPTION_TEST,
	OPTION_RUN
};

struct option_row {
	const char *name;
	int value;            // its letter, or one of the above
	const char *arg;      // NULL: it has none
	const char *commands; // that it is for, "sa, apply"; NULL: all
	const char *help;
};

extern const struct option_row option_rows[];
extern const size_t n_option_rows;

// Whether a list of words, "sa, apply", has the word.
bool word_is_of(const char *list, const char *word);

// Whether the option is for that command.
bool option_is_of(const struct option_row *o, const char *command);

// Prints what there is.
void help_print(FILE *out);
