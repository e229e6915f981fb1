// SPDX-License-Identifier: BSD-3-Clause
// The files that outlive the daemon: the table of sequence numbers in state_dir, which one daemon
// at a time has, and next to it the number of its turn. Here they are opened, and checked as far as
// that is possible: they are nobody else's, they are the last that were written, and they know
// every key whose nonces must not repeat. Control thread.
#pragma once

#include <limits.h>
#include <stdio.h>

#include "conf.h"
#include "seq_table.h"

struct state {
	char path[PATH_MAX];        // of the table
	char memory_path[PATH_MAX]; // of replay windows, see replay_memory.h
	struct seq_table *table;
	int lock; // the file that says that the table is ours, with the turn in it; -1: none
};

// Opens and reads them. Returns 0, or -errno after logging why not. state_close() in any case.
// state_dir must not be NULL.
int state_open(struct state *s, const struct conf *conf);

void state_close(struct state *s);

// Whether the table knows the key of every outbound SA whose cipher must not meet a nonce twice.
// SAs whose key it does not know are written to errors, one line each, unless the operator has
// declared such keys new. Returns 0 or -EPERM.
int state_keys_check(const struct state *s, const struct conf *conf, bool declared, FILE *errors);

// Declares such keys new, while no daemon runs: writes them into the table with number 0, and the
// names of their SAs to out. Returns 0, or -errno after logging why not.
int state_keys_declare(const struct conf *conf, FILE *out);
