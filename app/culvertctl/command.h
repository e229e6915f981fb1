// SPDX-License-Identifier: BSD-3-Clause
// The commands of culvertctl: each writes its result to standard output, or what went wrong to
// standard error, and returns the exit code. Words are those behind the command and end with NULL.
// One thread.
#pragma once

#include <stdbool.h>

#include "output.h"

struct options {
	const char *instance; // NULL: the only one that runs
	bool json;            // for programs, instead of tables
	bool once;            // of top: one picture
	bool wide;            // of show and watch: all columns
	bool new_keys;        // of what changes SAs: keys that are not recorded are new
	unsigned int packets; // of trace
	unsigned int seconds; // of trace: at most
	const char *run;      // of events: the command for each; NULL: none
};

// The running instances. No words.
enum exit_code command_list(const struct options *options, char **words);

// What to show (show.h) and perhaps "all", the name of an object, or filters and their values.
enum exit_code command_show(const struct options *options, char **words);

// Nothing, or "undo". From now on counters are shown from 0 on, or as the daemon has them.
enum exit_code command_clear(const struct options *options, char **words);

// "flows", perhaps filters and their values.
enum exit_code command_flush(const struct options *options, char **words);

// Nothing. Shows the live view until the user quits.
enum exit_code command_top(const struct options *options, char **words);

// Perhaps seconds, "show", and what follows that. Shows it again and again.
enum exit_code command_watch(const struct options *options, char **words);

// No words. Fails if the file is refused, after what is wrong with it.
enum exit_code command_reload(const struct options *options, char **words);

// Filters and their values. Shows what happens to the next packets.
enum exit_code command_trace(const struct options *options, char **words);

// No words. What a reload would change; the exit code is that of diff(1).
enum exit_code command_diff(const struct options *options, char **words);

// "add", "set" or "del" and what belongs to it; the word before them is the kind of thing: "sa".
enum exit_code command_change(const struct options *options, char **words);

// No words. The configuration that runs, and the changes that lead to it from the file.
enum exit_code command_show_config(const struct options *options, char **words);
enum exit_code command_save(const struct options *options, char **words);

// The file to write, perhaps a cipher and an authenticator.
enum exit_code command_keygen(const struct options *options, char **words);

// A configuration file.
enum exit_code command_peer_config(const struct options *options, char **words);

// A file of changes.
enum exit_code command_apply(const struct options *options, char **words);

// No words. Shows events until the user quits.
enum exit_code command_events(const struct options *options, char **words);

// A reason for dropping packets, or nothing for all of them.
enum exit_code command_explain(const struct options *options, char **words);
