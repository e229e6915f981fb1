// SPDX-License-Identifier: BSD-3-Clause
// The last revisions of the configuration, each a file in state_dir that nobody else can read: its
// keys are in it. Their first line has who made them, the rest is text that history.c does not
// read. With a mark, the next start does not use the configuration file: it was not confirmed.
//
// The control thread; while it loads a configuration, the loading thread writes and reads.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "conf.h"

#define REVISIONS_MAX        CONF_HISTORY_MAX
#define REVISION_SUMMARY_MAX 96 // octets with the NUL
#define REVISION_SOURCE_MAX  16

struct revision {
	uint32_t number; // from 1 on; 0: none
	uint64_t at_s;   // of the wall clock
	uint32_t user;
	char source[REVISION_SOURCE_MAX]; // "start", or the request that made it: one word
	char summary[REVISION_SUMMARY_MAX];
};

struct history {
	char path[PATH_MAX - 64]; // before the number of a file; empty: there is none
	struct revision revision[REVISIONS_MAX]; // in the order of their numbers
	unsigned int n;
	unsigned int max; // how many are kept; set before each write
	int error;        // of the last write; 0: it is on the disk
	// The file was not confirmed after a reload: it had this revision, and a start begins with
	// the other one. 0: there is no mark.
	uint32_t unconfirmed, former;
};

// Finds the revisions of a configuration's instance, which may be none. Later the user that the
// daemon becomes can read them. Before the privileges are dropped.
void history_open(struct history *h, const struct conf *conf);

// How many revisions are kept: the running one, and the former one of a change that waits at least.
unsigned int history_room(const struct conf *conf);

// Removes all of them.
void history_clear(struct history *h);

// The number of the next revision.
uint32_t history_next(const struct history *h);

// NULL: it is not kept.
const struct revision *history_find(const struct history *h, uint32_t number);

// Writes the line that stands before the text of a revision.
void history_begin(FILE *out, const struct revision *r);

// Writes a revision of len octets, that line with them, to the disk. It counts after
// history_keep(), and is removed by history_drop(). Returns 0 or -errno.
int history_write(const struct history *h, uint32_t number, const char *text, size_t len);
void history_keep(struct history *h, const struct revision *r);
void history_drop(const struct history *h, uint32_t number);

// The text of a revision, without its first line, with a NUL after it; *len: its octets. To be
// wiped, and freed with free(). NULL with errno.
char *history_read(const struct history *h, uint32_t number, size_t *len);

// Writes the mark to the disk, or with 0 removes it there. Returns 0 or -errno.
int history_mark(const struct history *h, uint32_t unconfirmed, uint32_t former);
