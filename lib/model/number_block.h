// SPDX-License-Identifier: BSD-3-Clause
// The sequence numbers that one member of a pair may use with a key which both have. They are
// divided into blocks of equal size, of which each member has every second one: so the two never
// use a number twice, whether they have a connection or not (RFC 4303 3.3.3). A gateway that is
// alone has one block with all numbers. Pure functions; any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// A block is reserved at once, and lasts for some ticks of the control thread. One takeover uses up
// one block, of 256 without ESN.
#define NUMBER_BLOCK_BITS     24
#define NUMBER_BLOCK_BITS_ESN 28
#define NUMBER_BLOCK          (UINT64_C(1) << NUMBER_BLOCK_BITS)
#define NUMBER_BLOCK_ESN      (UINT64_C(1) << NUMBER_BLOCK_BITS_ESN)
// The peer of a pair leaves out this number when the other member takes over, which refuses no
// more.
#define NUMBER_LEAP (NUMBER_BLOCK / 4)

struct number_blocks {
	uint64_t mask; // size of a block - 1
	uint64_t own;  // value of the next higher bit in numbers of own blocks
};

// member: 1 or 2; 0: alone.
static inline struct number_blocks number_blocks_of(unsigned int member, bool esn)
{
	const uint64_t size = esn ? NUMBER_BLOCK_ESN : NUMBER_BLOCK;

	if (member == 0)
		return (struct number_blocks){.mask = UINT64_MAX};
	return (struct number_blocks){.mask = size - 1, .own = (member - 1) * size};
}

static inline bool number_is_own(const struct number_blocks *b, uint64_t seq)
{
	return (seq & (b->mask + 1)) == b->own; // alone: 0
}

// The last number of the block that has seq.
static inline uint64_t number_block_end(const struct number_blocks *b, uint64_t seq)
{
	return seq | b->mask;
}

// The first own number that is not below seq.
static inline uint64_t number_own_from(const struct number_blocks *b, uint64_t seq)
{
	return number_is_own(b, seq) ? seq : number_block_end(b, seq) + 1;
}

// The last own number that is not above seq; 0: there is none.
static inline uint64_t number_own_to(const struct number_blocks *b, uint64_t seq)
{
	uint64_t first = seq & ~b->mask;

	if (number_is_own(b, seq))
		return seq;
	return first > 0 ? first - 1 : 0;
}

// The nth own number above seq, n > 0; UINT64_MAX: there is none.
static inline uint64_t number_own_after(const struct number_blocks *b, uint64_t seq, uint64_t n)
{
	uint64_t first = number_own_from(b, seq + 1);
	uint64_t place = (first & b->mask) + (n - 1); // counted from the start of its block
	uint64_t after = place & ~b->mask;            // numbers of the own blocks between

	if (place < n - 1 || first > UINT64_MAX - 2 * after)
		return UINT64_MAX;
	return (first & ~b->mask) + 2 * after + (place & b->mask);
}
