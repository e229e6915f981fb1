// SPDX-License-Identifier: BSD-3-Clause
// What every command writes to standard output, and how it ends. One thread.
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

enum exit_code {
	EXIT_OK,
	EXIT_FAILED,
	EXIT_USAGE, // the command line needs a change
};

// Characters in a line of the terminal; 0: no terminal, no limit.
size_t output_width(void);

// Prints a table of objects, as wide as the terminal.
void output_rows(FILE *out, json_t *rows);

// Prints a value for programs.
enum exit_code output_json(const json_t *value);
