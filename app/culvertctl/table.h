// SPDX-License-Identifier: BSD-3-Clause
// Prints an array of flat JSON objects as an aligned table. One thread.
#pragma once

#include <jansson.h>
#include <stdio.h>

// Writes text. An octet that is not printable ASCII, or a backslash, is written as \xNN: nothing of
// what a daemon sends reaches the terminal as a control sequence.
void table_put_text(FILE *out, const char *text);

// The columns are the keys of the first object, in its order. Numbers stand right, text left, "-"
// for what is missing or empty; the elements of an array, and of an object with their keys, are
// joined by commas.
//
// A table wider than width characters is continued below itself, each part with the first column in
// front; width 0: no limit. Without memory the program ends.
void table_print(FILE *out, json_t *rows, size_t width);
