// SPDX-License-Identifier: BSD-3-Clause
// A set of small numbers, a bit for each. Not atomic: one thread changes it. Any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

static inline void bits_set(uint64_t bits[], uint32_t number)
{
	bits[number / 64] |= UINT64_C(1) << number % 64;
}

static inline bool bits_have(const uint64_t bits[], uint32_t number)
{
	return (bits[number / 64] >> number % 64 & 1) != 0;
}
