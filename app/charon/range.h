// SPDX-License-Identifier: BSD-3-Clause
// Ranges of addresses as prefixes. For group.c; any thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANGE_ADDRESS_MAX  16 // octets
#define RANGE_PREFIXES_MAX 64

struct prefix {
	uint8_t address[RANGE_ADDRESS_MAX]; // network byte order
	unsigned int bits;
};

// Writes the prefixes of the range, first to last address of len octets in network byte order, in
// order. Returns their number; 0: there is no address in it, or there are more prefixes than fit.
unsigned int range_split(const uint8_t from[], const uint8_t to[], size_t len,
	struct prefix prefix[RANGE_PREFIXES_MAX]);
