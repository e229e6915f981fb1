// SPDX-License-Identifier: BSD-3-Clause
// The options of a benchmark, by a table.
#pragma once

#include <getopt.h>
#include <stdbool.h>

#include "die.h"
#include "option_number.h"

// One of text, number and flag is where its value goes: the text as it is, a number from 1 to max,
// or that the option is there, which then takes no value.
struct option_row {
	const char *name;
	const char **text;
	unsigned int *number, max;
	bool *flag;
};

#define OPTION_ROWS_MAX 16

static inline void option_set(const struct option_row *row, const char *value)
{
	if (row->text != NULL)
		*row->text = value;
	else if (row->number != NULL)
		*row->number = option_number(row->name, value, row->max);
	else
		*row->flag = true;
}

// Reads them by n rows. Ends the program for anything else.
static inline void option_rows_read(
	const struct option_row rows[], unsigned int n, int argc, char **argv)
{
	struct option longs[OPTION_ROWS_MAX + 1] = {0};
	int c;

	for (unsigned int i = 0; i < n; i++)
		longs[i] = (struct option){rows[i].name,
			rows[i].flag != NULL ? no_argument : required_argument, NULL, (int)i};
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == '?')
			exit(2);
		option_set(&rows[c], optarg);
	}
	if (optind != argc)
		die("what is '%s'?", argv[optind]);
}
