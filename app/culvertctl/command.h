// SPDX-License-Identifier: BSD-3-Clause
// The command line of culvertctl, described once: commands, their words, and options. The help, the
// completion and the reading of options follow from these rows. Each command writes its result to
// standard output, or a message to standard error, and returns the exit code. One thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "output.h"

struct options {
	const char *instance; // NULL: the only one that runs
	bool json;            // for programs, instead of tables
	bool once;            // of top: one picture
	bool wide;            // of show: all columns
	unsigned int watch;   // of show and status: seconds between two; 0: once
	bool new_keys;        // for changes of SAs: keys that are not recorded are new
	bool discard;         // of reload: also changes at run time that the file lacks
	const char *confirm;  // of changes: the time until they return; NULL: they stay
	bool write;           // of save: into the file
	unsigned int packets; // of trace and ping
	unsigned int seconds; // of trace: at most
	unsigned int size;    // of ping, octets; 0: as the daemon chooses
	bool mtu;             // of ping: the largest packet
	unsigned int pause;   // of ping: seconds between two
	const char *driver;   // of bind
	bool force;           // of bind: also the needs of the machine
	bool test;            // of devices
	const char *run;      // of events: the command for each; NULL: none
	bool help, version;   // instead of the command
};

// Words are those after the command, and end with NULL.
typedef enum exit_code command_fn(const struct options *options, char **words);

command_fn command_apply, command_bind, command_change, command_clear, command_devices,
	command_complete, command_confirm, command_diff, command_events, command_explain,
	command_drain, command_flush, command_group, command_help, command_history, command_keygen,
	command_list, command_peer_config, command_ping, command_reload, command_rollback,
	command_save, command_show, command_status, command_top, command_trace, command_unbind;

// The list "config" of show: no words; a list again and again.
command_fn command_show_config, command_show_watch;

// Prints the words that may follow n words after a command (complete.c).
typedef void complete_fn(const struct options *options, char **words, size_t n);

complete_fn complete_change, complete_clear, complete_commands, complete_devices, complete_explain,
	complete_drain, complete_revisions, complete_file, complete_flush, complete_group,
	complete_ping, complete_show, complete_trace;

// Replaces words of a line, n of them: an abbreviation by the keyword, and singular and plural by
// each other where the keyword is one of them. An ambiguous word ends the program after a message.
void complete_abbreviations(const struct options *options, char **words, size_t n);

struct command {
	const char *name;
	const char *synopsis; // arguments after the name
	const char *help;
	command_fn *run;
	bool alone;            // takes no words
	complete_fn *complete; // NULL: nothing
};

extern const struct command commands[];
extern const size_t n_commands;

// NULL: there is none of that name.
const struct command *command_find(const char *name);

// Prints on standard error that it is unknown.
enum exit_code command_unknown(const char *word);

struct option_row {
	const char *name;
	int letter;           // 0: it has none
	const char *arg;      // NULL: it has none
	const char *commands; // that it is for, "sa, apply"; NULL: all
	const char *help;
	size_t offset; // in struct options: of a bool without an argument, of text, or of a number
	unsigned int max; // of a number from 1; 0: it is text
	void (*check)(
		const char *text); // ends the program unless the text is allowed; NULL: any is
};

extern const struct option_row option_rows[];
extern const size_t n_option_rows;

// Reads options, over the defaults, and runs the command. argv begins with the name of the program,
// and ends with NULL.
enum exit_code command_line(const struct options *defaults, int argc, char **argv);

// Whether a list of words, "sa, apply", has the word.
bool word_is_of(const char *list, const char *word);

// Whether the option is for that command.
bool option_is_of(const struct option_row *o, const char *command);

// Prints all commands.
void help_print(FILE *out);
