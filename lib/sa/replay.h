// SPDX-License-Identifier: BSD-3-Clause
// Anti-replay window of an inbound SA (RFC 4303 3.4.3), of any size and for 64-bit sequence
// numbers. Workers, any number at once: there is no lock and no packet is accepted twice.
//
// The window is a ring of words, each covering 32 consecutive numbers: the low half says which of
// them were seen, the high half which 32 they are. A word thus carries its own meaning, so one
// compare-and-swap both recognises a stale word and marks the number, and nothing has to be cleared
// when the window moves on. Names repeat after 2^37 numbers, so that words that old are renamed:
// once in 2^35 numbers, by the worker that brings the window there. Only ESN has so many.
//
// No number is 2^32 or more to the right of the window: without ESN there is none, and with it
// replay_guess_seq() finds none.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "replay_memory.h"

struct replay {
	uint32_t size;          // packets; 0: every number is accepted. Constant.
	uint32_t slot_mask;     // words in the ring - 1. Constant.
	_Atomic uint64_t top;   // highest number accepted or about to be, or another of its word.
				// Written by workers.
	_Atomic uint64_t *slot; // written by workers
	struct replay_memory *memory; // that slot is in; NULL: the heap
};

// Makes a window of size packets: 0 or 32 to 65536. Control thread. Returns 0 or -ENOMEM.
int replay_init(struct replay *r, uint32_t size);

void replay_fini(struct replay *r);

// Of a window that is not in use yet: no number up to seq will be accepted.
void replay_start_behind(struct replay *r, uint64_t seq);

// These are for a window that no worker has yet, of any size but 0. Control thread.

// How many words the window has.
uint32_t replay_words(const struct replay *r);

// Has it in memory that outlives the process, under the name of the SA's key; the memory lives
// longer than the window, which gives its part back in replay_fini(). Returns 0, -ENOMEM or
// -ENOSPC.
int replay_keep_in(struct replay *r, struct replay_memory *memory, const struct key_id *id);

// Goes on where another window of the same SA stood, which had n such words and accepted nothing
// further than 2^36 from bound. Of a window of another size only the highest number counts.
void replay_take_over(struct replay *r, const _Atomic uint64_t *words, uint32_t n, uint64_t bound);

// The highest number accepted so far, 0 if none was. Any thread.
uint64_t replay_top(const struct replay *r);

// With ESN: the whole number of a packet that shows the lower half of it, the one that is not left
// of the window and nearest to it (RFC 4303 appendix A2.2). 0, which no check lets through, if that
// would be less than 0. Host byte order. The size must not be 0.
static inline uint64_t replay_guess_seq(const struct replay *r, uint32_t lower)
{
	uint64_t top = replay_top(r);
	uint64_t left = top - r->size + 1; // wraps as long as the window reaches below 0
	uint64_t seq = left + (uint32_t)(lower - (uint32_t)left);

	return top < r->size - 1 && seq >= left ? 0 : seq;
}

// Prefetches the word of seq.
void replay_prefetch(const struct replay *r, uint64_t seq);

// Before the ICV is checked: whether seq (host byte order) may still be accepted. Number 0 never
// is.
bool replay_check(const struct replay *r, uint64_t seq);

// After the ICV was found right: accepts seq. False if it was accepted meanwhile or has fallen out
// of the window: two copies in one burst both pass the check, but only one commits.
bool replay_commit(struct replay *r, uint64_t seq);

// The same for n numbers, one after the other; accepted[i] says which were. Numbers that come in
// their order cost one step for all that share a word.
void replay_commit_burst(struct replay *r, const uint64_t seq[], bool accepted[], uint16_t n);
