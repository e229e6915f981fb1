// SPDX-License-Identifier: BSD-3-Clause
// Writes texts to one file, one after the other, on a thread of its own: a disk that takes its time
// holds nobody up. Control thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct disk_writer;

// The writer of the file of this name, which it replaces as sa_ledger_save() does. When that is
// done it writes the turn to the open file witness, whose content may thus be behind, but never
// ahead. Returns 0, or -errno as the system says.
int disk_writer_new(struct disk_writer **w, const char *path, int witness);

// Writes what it was given. NULL is fine.
void disk_writer_free(struct disk_writer *w);

// From disk_writer_start() until the result has been taken.
bool disk_writer_busy(struct disk_writer *w);

// Takes a text of len octets that malloc() gave, of a turn, and writes it. Not while busy.
void disk_writer_start(struct disk_writer *w, char *text, size_t len, uint64_t turn);

// The turn that an earlier writer wrote to this open file; 0 if none did.
uint64_t disk_writer_turn_of(int witness);

// Once for each text: whether it has been dealt with. *rc is then what sa_ledger_save() returned.
bool disk_writer_done(struct disk_writer *w, int *rc);

// Waits for the text that is being written and returns what sa_ledger_save() did; 0 if there is
// none.
int disk_writer_wait(struct disk_writer *w);
