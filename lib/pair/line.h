// SPDX-License-Identifier: BSD-3-Clause
// Lines of text: printable ASCII, and the octet \n at the end. They may have keys: octets that were
// taken, or forgotten, are wiped. Pure functions without a clock; of one object at most one thread
// at a time.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINE_LEN_MAX 1024 // octets with the end

// --- received octets as lines ---

struct line_reader {
	char text[LINE_LEN_MAX];
	size_t len;
};

enum line_result {
	LINE_PART,     // all octets are used, and the line has not ended
	LINE_WHOLE,    // text is a line, with NUL instead of its end
	LINE_TOO_LONG, // it does not fit
	LINE_NOT_TEXT, // it has an octet that is not printable
};

// Forgets the octets that were read.
void line_reader_clear(struct line_reader *r);

// Reads octets of one line. *used: how many. After LINE_WHOLE the next call begins another line.
enum line_result line_read(struct line_reader *r, const char *octets, size_t len, size_t *used);

// --- words of a line, with one blank in between ---

// Takes the next word, copied with NUL after it. *rest: the line after the words that were taken;
// NULL after the last one. False: there is no word, or it has more than size - 1 octets.
bool line_word(const char **rest, char *word, size_t size);

// The same of a number in decimal digits, from 0 to max.
bool line_number(const char **rest, uint64_t *n, uint64_t max);

// --- lines that wait ---

// A ring of lines with their ends.
struct line_queue {
	char *octets;
	size_t size, first, len;
};

// Returns 0 or -ENOMEM.
int line_queue_init(struct line_queue *q, size_t size);
void line_queue_fini(struct line_queue *q);
void line_queue_clear(struct line_queue *q);

static inline size_t line_queue_room(const struct line_queue *q)
{
	return q->size - q->len;
}

// Appends a line of len octets without its end. False if there is no room.
bool line_queue_put(struct line_queue *q, const char *line, size_t len);

// Takes the first line with its end, if it has at most size octets. Returns its length; 0: there is
// none, or it is longer.
size_t line_queue_take(struct line_queue *q, char *line, size_t size);
