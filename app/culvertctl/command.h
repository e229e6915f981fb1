// SPDX-License-Identifier: BSD-3-Clause
// The commands of culvertctl: each writes its result to standard output, or what went wrong to
// standard error, and returns the exit code. One thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "output.h"

struct options {
	const char *instance; // NULL: the only one that runs
	bool json;            // for programs, instead of tables
	bool once;            // of top: one picture
	bool wide;            // of show and watch: all columns
	bool new_keys;        // of what changes SAs: keys that are not recorded are new
	bool discard;         // of reload: also changes at run time that the file lacks
	unsigned int packets; // of trace
	unsigned int seconds; // of trace: at most
	const char *driver;   // of bind
	bool force;           // of bind: also what the machine needs
	bool test;            // of devices
	const char *run;      // of events: the command for each; NULL: none
};

// Words are those behind the command, as main.c has them for the help, and end with NULL.
typedef enum exit_code command_fn(const struct options *options, char **words);

command_fn command_apply, command_bind, command_change, command_clear, command_devices,
	command_complete, command_diff, command_events, command_explain, command_flush,
	command_help, command_keygen, command_list, command_peer_config, command_reload,
	command_save, command_show, command_top, command_trace, command_unbind, command_watch;

// The list "config" of show: no words.
command_fn command_show_config;

// Prints what may follow n words behind a command (complete.c).
typedef void complete_fn(const struct options *options, char **words, size_t n);

complete_fn complete_change, complete_clear, complete_commands, complete_devices, complete_explain,
	complete_file, complete_flush, complete_show, complete_trace, complete_watch;
