// SPDX-License-Identifier: BSD-3-Clause
// Writes texts to a file, one after the other, in a separate thread, so that a slow disk does not
// delay the control thread, which calls these functions.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct disk_writer;

// Creates the writer of a file, which it replaces as file_save() does. Then it writes the turn
// to the open file witness, whose turn is thus never higher than that of the file. Returns 0, or
// -errno of the system call.
int disk_writer_new(struct disk_writer **w, const char *path, int witness);

// Finishes the write, and ends the thread. NULL is allowed.
void disk_writer_free(struct disk_writer *w);

// Whether a text has been started whose result has not been taken.
bool disk_writer_busy(struct disk_writer *w);

// Starts to write a text of len octets, of a turn, and frees it with free(). Not while busy.
void disk_writer_start(struct disk_writer *w, char *text, size_t len, uint64_t turn);

// The turn that an earlier writer wrote to this open file; 0 if none did.
uint64_t disk_writer_turn_of(int witness);

// Takes the result of a text, once it is written: sets *rc to the result of file_save(). False
// if there is none.
bool disk_writer_done(struct disk_writer *w, int *rc);

// Sets a function that is called every 20 ms or so in disk_writer_wait(), by the thread that waits;
// and calls it.
void disk_writer_meanwhile_set(struct disk_writer *w, void (*meanwhile)(void *arg), void *arg);
void disk_writer_meanwhile(const struct disk_writer *w);

// Waits for the text that is being written, and takes the result; 0 if there is none.
int disk_writer_wait(struct disk_writer *w);
