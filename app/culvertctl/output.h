// SPDX-License-Identifier: BSD-3-Clause
// Output of every command, and its end. One thread.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

enum exit_code {
	EXIT_OK,
	EXIT_FAILED,
	EXIT_USAGE,    // the command line needs a change
	EXIT_DEGRADED, // of status
};

// Whether the output is a terminal that knows control sequences.
bool output_knows_sequences(void);

// Characters in a line of the terminal; 0: no terminal, no limit.
size_t output_width(void);

// Writes text. An octet that is not printable ASCII, or a backslash, is written as \xNN: no octet
// of a daemon reaches the terminal as part of a control sequence.
void output_text(FILE *out, const char *text);

// Prints an array of flat objects as an aligned table. The columns are the keys of the first
// object, in its order. Numbers are aligned right, text left, "-" stands for missing or empty
// values; the elements of an array, and of an object with their keys, are joined by commas.
//
// A table wider than the terminal is continued below itself, each part with the first column in
// front; if several rows have the same there, with their numbers. Without memory the program ends.
void output_rows(FILE *out, json_t *rows);

// Writes a label, and beside it a state and text, both quoted as above, in lines of words that fit
// the terminal, or 80 columns. "" for none; nothing without both. States are in colour on a
// terminal that knows them, unless NO_COLOR is set (no-color.org), as they are in tables.
void output_paragraph(FILE *out, const char *label, const char *state, const char *text);

// The text without the marks of Markdown: of a link, its text. Brackets with blanks in them stay.
// NULL without memory.
json_t *output_plain_new(const char *markdown);

#define OUTPUT_TIME_MAX 32

// "1 d 02:03:04", and the local time; in text, which is returned.
const char *output_duration(char text[OUTPUT_TIME_MAX], json_int_t seconds);
const char *output_time(char text[OUTPUT_TIME_MAX], time_t at);

// Prints a value for programs, and gives up the reference to it.
enum exit_code output_json(json_t *value);

// The same in one line, at once: for a program that reads line by line.
enum exit_code output_json_line(json_t *value);

// The value of a field of an object: text, NULL if it is none; a number, 0 if it is none.
const char *object_text(const json_t *object, const char *name);
json_int_t object_number(const json_t *object, const char *name);
