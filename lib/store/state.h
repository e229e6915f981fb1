// SPDX-License-Identifier: BSD-3-Clause
// The files that outlive the daemon: in state_dir the ledger (lib/sa/sa_ledger.h), which one daemon
// at a time has, and the lock with the number of its turn; in memory the replay windows. Opens and
// checks them: nobody else can write them, they are the last that were written, and the ledger has
// every key whose nonces must not repeat. A file that others can write, or put in its place, proves
// nothing: files and folders belong to root, the user who runs the daemon, or the user it becomes.
// Control thread.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "conf.h"
#include "sa_ledger.h"

struct state {
	char path[PATH_MAX];        // of the ledger
	char memory_path[PATH_MAX]; // of replay windows, see replay_memory.h
	struct sa_ledger *ledger;
	int lock;            // descriptor of the locked file, which has the turn; -1: none
	unsigned int member; // of a pair or fleet, which this gateway is; 0: alone
	bool fleet;          // it is of a fleet
};

// Logs an error of a file, with its remedy. Returns -error.
int state_refuse(const char *what, const char *path, int error, const char *advice);

// Checks the folder of a file that others must not exchange; risk describes the attack. Returns 0,
// or -errno after writing mistake and remedy to why (size octets). Any time.
int folder_check(
	const char *path, const struct conf *conf, const char *risk, char *why, size_t size);

// Whether there is a folder state_dir, without making it. Returns 0; 1: the start can make it; or
// -errno after logging the cause.
int state_dir_check(const struct conf *conf);

// Opens the files and reads them into the ledger, which has no records. Returns 0, or -errno after
// logging the cause. Call state_close() in any case. state_dir must not be NULL.
int state_open(struct state *s, const struct conf *conf, struct sa_ledger *ledger);

void state_close(struct state *s);

// Whether the ledger must have a record of an SA's key, but has none.
bool state_key_is_unknown(const struct state *s, const struct sa_options *o);

// The size of the blocks of numbers of an SA, as of sa_record; 0: alone.
unsigned int state_block_bits(const struct state *s, const struct sa_options *o);

// Whether this gateway has used the key of an outbound SA as another member, alone, or
// with blocks of another size: others may have used some of the numbers that it would use now.
bool state_key_is_divided(const struct state *s, const struct sa_options *o);

// Checks that the file has the key of every outbound SA whose cipher must not use a nonce twice,
// and none that is divided into other blocks. Writes a line to errors for each SA of either kind.
// declared: the operator has declared the keys that the file does not have new. Returns 0 or
// -EPERM.
int state_keys_check(const struct state *s, const struct conf *conf, bool declared, FILE *errors);

// Declares such keys new, while no daemon runs: adds them to the file with number 0, and writes the
// names of their SAs to out. Returns 0, or -errno after logging the cause.
int state_keys_declare(const struct conf *conf, FILE *out);
