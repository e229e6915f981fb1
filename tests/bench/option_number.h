// SPDX-License-Identifier: BSD-3-Clause
// The value of an option of a benchmark.
#pragma once

#include "die.h"

// A number from 1 to max. Ends the program if it is none.
static inline unsigned int option_number(const char *name, const char *from, unsigned long max)
{
	char *end;
	unsigned long v = strtoul(from, &end, 10);

	if (*end != '\0' || v < 1 || v > max)
		die("%s: not a number from 1 to %lu", name, max);
	return (unsigned int)v;
}
