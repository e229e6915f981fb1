// SPDX-License-Identifier: BSD-3-Clause
// The sequence numbers that one of several gateways may use with a key which all have: the members
// of a pair, or of a fleet. They are divided into blocks of equal size, of which each member has
// one in each turn: so no two use a number twice, whatever they know of each other (RFC 4303
// 3.3.3). A gateway that is alone has one block with all numbers. Pure functions; any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// A block is reserved at once, and lasts for some ticks of the control thread. A takeover of a pair
// uses up one block, of 256 without ESN. A fleet has ESN; a turn of its members is no more than
// NUMBER_NOTICED_ESN, so that a peer takes no next block for a takeover.
#define NUMBER_BLOCK_BITS       24
#define NUMBER_BLOCK_BITS_ESN   28
#define NUMBER_BLOCK_BITS_FLEET 21
#define NUMBER_BLOCK            (UINT64_C(1) << NUMBER_BLOCK_BITS)
#define NUMBER_BLOCK_ESN        (UINT64_C(1) << NUMBER_BLOCK_BITS_ESN)
#define NUMBER_BLOCK_FLEET      (UINT64_C(1) << NUMBER_BLOCK_BITS_FLEET)
#define NUMBER_FLEET_MEMBERS    64 // a power of 2
#define NUMBER_FLEET_TURN       (NUMBER_FLEET_MEMBERS * NUMBER_BLOCK_FLEET)
// The peer of a pair or fleet leaves out this number when another member takes over, which refuses
// no more. With ESN it has that many reserved on its disk.
#define NUMBER_LEAP     (NUMBER_BLOCK / 4)
#define NUMBER_LEAP_ESN (NUMBER_BLOCK_ESN / 4)
// It notices that by numbers which are more than this further.
#define NUMBER_NOTICED     (NUMBER_BLOCK / 2)
#define NUMBER_NOTICED_ESN (NUMBER_BLOCK_ESN / 2)

struct number_blocks {
	uint64_t mask; // size of a block - 1
	uint64_t turn; // bits of a number that are the place of its block in a turn; alone: none
	uint64_t own;  // their value in numbers of own blocks
};

// member: 1 or 2 of a pair; 0: alone.
static inline struct number_blocks number_blocks_of(unsigned int member, bool esn)
{
	const uint64_t size = esn ? NUMBER_BLOCK_ESN : NUMBER_BLOCK;

	if (member == 0)
		return (struct number_blocks){.mask = UINT64_MAX};
	return (struct number_blocks){.mask = size - 1, .turn = size, .own = (member - 1) * size};
}

// member: 1 to NUMBER_FLEET_MEMBERS.
static inline struct number_blocks number_blocks_of_fleet(unsigned int member)
{
	const uint64_t size = NUMBER_BLOCK_FLEET;

	return (struct number_blocks){
		.mask = size - 1, .turn = NUMBER_FLEET_TURN - size, .own = (member - 1) * size};
}

// Blocks in a turn; alone: 1.
static inline uint64_t number_members(const struct number_blocks *b)
{
	return b->turn != 0 ? b->turn / (b->mask + 1) + 1 : 1;
}

static inline bool number_is_own(const struct number_blocks *b, uint64_t seq)
{
	return (seq & b->turn) == b->own;
}

// The last number of the block that has seq.
static inline uint64_t number_block_end(const struct number_blocks *b, uint64_t seq)
{
	return seq | b->mask;
}

// The first own number that is not below seq; UINT64_MAX: there is none.
static inline uint64_t number_own_from(const struct number_blocks *b, uint64_t seq)
{
	uint64_t first = seq & ~b->mask, ahead = (b->own - first) & b->turn;

	if (number_is_own(b, seq))
		return seq;
	return first <= UINT64_MAX - ahead ? first + ahead : UINT64_MAX;
}

// The last own number that is not above seq; 0: there is none.
static inline uint64_t number_own_to(const struct number_blocks *b, uint64_t seq)
{
	uint64_t first = seq & ~b->mask, back = (first - b->own) & b->turn;

	if (number_is_own(b, seq))
		return seq;
	return first >= back ? (first - back) | b->mask : 0;
}

// The nth own number above seq, n > 0; UINT64_MAX: there is none.
static inline uint64_t number_own_after(const struct number_blocks *b, uint64_t seq, uint64_t n)
{
	uint64_t first = number_own_from(b, seq + 1);
	uint64_t place = (first & b->mask) + (n - 1); // counted from the start of its block
	uint64_t after = place & ~b->mask;            // numbers of the own blocks between

	if (place < n - 1 || after > (UINT64_MAX - first) / number_members(b))
		return UINT64_MAX;
	return (first & ~b->mask) + number_members(b) * after + (place & b->mask);
}
