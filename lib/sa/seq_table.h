// SPDX-License-Identifier: BSD-3-Clause
// The sequence numbers used with each key, also by earlier daemons: a table, and its text in a
// file. A number is written there before it is used (outbound), or soon after it was received
// (inbound), so that no number is ever used or accepted twice with a key (RFC 4303 3.3.3, 3.4.3,
// RFC 4106 3.1). Keys are named by sa_numbers_id(). Control thread, except where noted.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "key_id.h"

#define SEQ_TOKEN_MAX 64

struct seq_record {
	struct key_id id;
	uint64_t bound;     // no number above this has been used
	uint64_t last_used; // turn in which it had a user last
	unsigned int users; // SAs that have it now
	// Of an SA that has it, for the size of its reservation.
	uint64_t before; // number at the last tick
	uint64_t rate;   // numbers in a second, averaged
};

struct seq_table;

// NULL with errno ENOMEM.
struct seq_table *seq_table_new(void);

// NULL is allowed.
void seq_table_free(struct seq_table *t);

// The record of a key; a new one, with bound 0, if there is none. It lives as long as the table, or
// until seq_table_prune() when it has no users. NULL with errno ENOMEM.
struct seq_record *seq_table_get(struct seq_table *t, const struct key_id *id);

// The record of a key, or NULL if there is none.
struct seq_record *seq_table_find(const struct seq_table *t, const struct key_id *id);

unsigned int seq_table_count(const struct seq_table *t);

// Begins another turn, one for each text of the table that is written, and returns its number: 1,
// 2, ... A table with a lower number than one seen before is an older one.
uint64_t seq_table_turn_begin(struct seq_table *t);

// The number of the turn; 0 in an empty table.
uint64_t seq_table_turn(const struct seq_table *t);

// Removes records without users, those used longest ago first, until at most max are left of them.
// Returns 0 or -ENOMEM.
int seq_table_prune(struct seq_table *t, unsigned int max);

// Which start of a daemon wrote the table: text without blanks, at most SEQ_TOKEN_MAX - 1 octets.
void seq_table_set_token(struct seq_table *t, const char *token);
const char *seq_table_token(const struct seq_table *t); // "" if nothing was read

// Reads what seq_table_write() wrote into an empty table. Returns 0, -ENOENT (no file: nothing is
// known), -EBADMSG (the file is damaged or not one of these), or -errno of the system call.
int seq_table_read(struct seq_table *t, const char *path);

// The table as text, to be freed with free(); its length without the NUL. NULL with errno ENOMEM.
char *seq_table_text(const struct seq_table *t, size_t *len);

// Replaces the file by the text, entirely or not at all even if the power fails; once this has
// returned 0 it is on the disk. Returns 0 or -errno of the system call. Any thread.
int seq_text_save(const char *path, const char *text, size_t len);
