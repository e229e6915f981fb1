// SPDX-License-Identifier: BSD-3-Clause
// Ranges of addresses (RFC 7296 3.13.1) as prefixes, which the gateway's policies have.
#include "range.h"

#include <string.h>

// The last address of the prefix, in place of the first one.
static void last_of(uint8_t address[], size_t len, unsigned int bits)
{
	for (size_t i = bits; i < 8 * len; i++)
		address[i / 8] |= (uint8_t)(0x80 >> i % 8);
}

// The next address. There is one, since the range ends later.
static void next_of(uint8_t address[], size_t len)
{
	while (++address[len - 1] == 0)
		len--;
}

// The length of the largest prefix that begins at the address and ends within the range.
static unsigned int largest_bits(const uint8_t address[], const uint8_t to[], size_t len)
{
	unsigned int bits = (unsigned int)len * 8;
	uint8_t last[RANGE_ADDRESS_MAX];

	for (; bits > 0; bits--) {
		memcpy(last, address, len);
		last_of(last, len, bits - 1);
		if ((address[(bits - 1) / 8] & 0x80 >> (bits - 1) % 8) != 0 ||
			memcmp(last, to, len) > 0)
			break;
	}
	return bits;
}

unsigned int range_split(const uint8_t from[], const uint8_t to[], size_t len,
	struct prefix prefix[RANGE_PREFIXES_MAX])
{
	uint8_t at[RANGE_ADDRESS_MAX];
	unsigned int n = 0;

	memcpy(at, from, len);
	while (n < RANGE_PREFIXES_MAX && memcmp(at, to, len) <= 0) {
		memcpy(prefix[n].address, at, len);
		prefix[n].bits = largest_bits(at, to, len);
		last_of(at, len, prefix[n++].bits);
		if (memcmp(at, to, len) == 0)
			return n;
		next_of(at, len);
	}
	return 0;
}
