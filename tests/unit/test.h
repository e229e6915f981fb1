// SPDX-License-Identifier: BSD-3-Clause
// Common to all C tests: cmocka with the headers that it requires, and random numbers that are the
// same in every run.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

// Marsaglia's xorshift: *state is anything but 0.
static inline uint64_t random_u64(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*state = x;
	return x;
}

// 0 to n - 1.
static inline uint32_t random_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)((random_u64(state) >> 32) * n >> 32);
}

// Rounds of a test with random operations: CULVERT_TEST_ROUNDS, a factor, makes it search longer.
static inline unsigned long rounds(unsigned long usual)
{
	const char *factor = getenv("CULVERT_TEST_ROUNDS");

	return factor != NULL ? usual * strtoul(factor, NULL, 10) : usual;
}
