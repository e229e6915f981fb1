// SPDX-License-Identifier: BSD-3-Clause
// Asks a daemon for a list: chooses the instance, and says on standard error what goes wrong.
// One thread.
#pragma once

#include <jansson.h>

#include "output.h"

// An instance that was chosen.
struct target {
	const char *instance; // belongs to the options or to found
	json_t *found;        // the running ones, if they had to be looked for
};

// Finds the running instances; *found becomes a new array.
enum exit_code ask_find(json_t **found);

// Says that no daemon runs, and how to start one.
void ask_none_running(void);

// Chooses the instance of that name, or if it is NULL the only one that runs.
enum exit_code target_init(struct target *t, const char *instance);
void target_fini(struct target *t);

// Asks for the list of a command of the daemon ("sas"), with a filter as of client_list(), and
// appends to the array objects what is behind the objects that it has.
enum exit_code ask_more(
	json_t *objects, const struct target *t, const char *command, const char *filter);

// Asks for the whole list. *objects becomes a new array.
enum exit_code ask_list(
	json_t **objects, const struct target *t, const char *command, const char *filter);
