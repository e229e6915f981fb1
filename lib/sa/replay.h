// SPDX-License-Identifier: BSD-3-Clause
// Anti-replay window of an inbound SA (RFC 4303 3.4.3), of any size and for 64-bit sequence
// numbers. Workers, any number at once: there is no lock and no packet is accepted twice.
//
// The window is a ring of words, each covering 32 consecutive numbers: its low half has a bit for
// each of them that was seen, its high half is a tag that identifies the 32. So one
// compare-and-swap both detects a stale word and marks the number, and nothing has to be cleared
// when the window moves. Tags repeat after 2^37 numbers. Words that old get another tag once in
// 2^35 numbers, from the worker that moves the window there. Only ESN has that many.
//
// No number is 2^32 or more above the window: without ESN there is none, and with it
// replay_guess_seq() finds none.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

#include "replay_memory.h"

#define REPLAY_WORD_BITS 32

// Fields that workers write. The words of a window of 64 packets, the default with one worker, are
// on the same cache line as top.
struct replay_ring {
	_Atomic uint64_t top; // highest number accepted or about to be, or another one of its word
	// The complement of the end, see replay_end_set(). Workers only read it. 0, the usual one,
	// is no part of a window for earlier versions, which take it for a slot of the memory.
	_Atomic uint64_t not_end;
	_Atomic uint64_t slot[];
};

// Constant; workers have copies.
struct replay {
	uint32_t size;      // packets; 0: every number is accepted
	uint32_t slot_mask; // words in the ring - 1
	struct replay_ring *ring;
};

// Makes a window of size packets: 0 or 32 to 65536. Control thread. Returns 0 or -ENOMEM.
int replay_init(struct replay *r, uint32_t size);

// memory: that replay_keep_in() was called with; NULL: it was not called.
void replay_fini(struct replay *r, struct replay_memory *memory);

// Sets the top of a window that is not in use yet: no number up to seq will be accepted.
void replay_start_behind(struct replay *r, uint64_t seq);

// The next three are for a window that workers do not have yet, of any size but 0. Control thread.

// Number of words that the window has in memory: top, end, and those of the ring.
uint32_t replay_words(const struct replay *r);

// Moves the words to memory that outlives the process, under the id of the SA's key. The memory
// must exist until replay_fini(), which gives them back. Returns 0, -ENOMEM or -ENOSPC.
int replay_keep_in(struct replay *r, struct replay_memory *memory, const struct key_id *id);

// Continues another window of the same SA, which had n words in memory and accepted no number 2^36
// or more away from bound. From a window of another size only the highest number is taken. Windows
// of earlier versions have no end, and so one word less.
void replay_take_over(struct replay *r, const _Atomic uint64_t *words, uint32_t n, uint64_t bound);

// The tag of the word that has seq.
static inline uint32_t replay_tag(uint64_t seq)
{
	return (uint32_t)(seq / REPLAY_WORD_BITS);
}

// The word that has seq, or an older or newer one.
static inline _Atomic uint64_t *replay_slot(const struct replay *r, uint64_t seq)
{
	return &r->ring->slot[replay_tag(seq) & r->slot_mask];
}

// Prefetches the memory for accepting a number.
static inline void replay_prefetch(const struct replay *r, uint64_t seq)
{
	__builtin_prefetch((const void *)&r->ring->top, 1);
	__builtin_prefetch((const void *)replay_slot(r, seq), 1);
}

// The highest number accepted so far, 0 if none was. Any thread.
//
// It changes with every packet, its word once in 32 packets: the field top identifies the word, and
// the word has the number, so that a packet costs one compare-and-swap.
static inline __attribute__((always_inline)) uint64_t replay_top(const struct replay *r)
{
	uint64_t top = atomic_load_explicit(&r->ring->top, memory_order_relaxed);
	uint64_t word = atomic_load_explicit(replay_slot(r, top), memory_order_relaxed);
	uint32_t seen = (uint32_t)word;

	// The worker that raised the field has not marked its number yet.
	if (seen == 0 || (uint32_t)(word >> REPLAY_WORD_BITS) != replay_tag(top))
		return top;
	return (top | (REPLAY_WORD_BITS - 1)) - (uint32_t)__builtin_clz(seen);
}

// With ESN: the sequence number of a packet, which has the lower half of it: the nearest number
// that is not below the window (RFC 4303 appendix A2.2). 0, which no check accepts, if that would
// be negative. Host byte order. The size must not be 0.
static inline uint64_t replay_guess_seq(const struct replay *r, uint32_t lower)
{
	uint64_t top = replay_top(r);
	uint64_t left = top - r->size + 1; // wraps while the window begins below 0
	uint64_t seq = left + (uint32_t)(lower - (uint32_t)left);

	return top < r->size - 1 && seq >= left ? 0 : seq;
}

// From now on packets of an SA with ESN that have a number above this one are dropped. To begin
// with all numbers are allowed. Control thread; workers may use the window.
static inline void replay_end_set(struct replay *r, uint64_t seq)
{
	atomic_store_explicit(&r->ring->not_end, ~seq, memory_order_relaxed);
}

static inline uint64_t replay_end(const struct replay *r)
{
	return ~atomic_load_explicit(&r->ring->not_end, memory_order_relaxed);
}

// replay_guess_seq(); also 0 if that is above the end.
static inline uint64_t replay_seq(const struct replay *r, uint32_t lower)
{
	uint64_t seq = replay_guess_seq(r, lower);

	return seq <= replay_end(r) ? seq : 0;
}

// The lowest number that is not below a window with this top; 0: there is no window.
static inline uint64_t replay_lowest_of(const struct replay *r, uint64_t top)
{
	if (r->size == 0)
		return 0;
	return top >= r->size ? top - r->size + 1 : 1;
}

static inline uint64_t replay_lowest(const struct replay *r)
{
	return replay_lowest_of(r, replay_top(r));
}

// Whether seq (host byte order) can be accepted; number 0 never is. Call before the ICV is checked.
static inline bool replay_check(const struct replay *r, uint64_t seq)
{
	uint64_t top = atomic_load_explicit(&r->ring->top, memory_order_relaxed);
	uint64_t word = atomic_load_explicit(replay_slot(r, seq), memory_order_relaxed);
	bool seen = (uint32_t)(word >> REPLAY_WORD_BITS) == replay_tag(seq) &&
		    (word >> seq % REPLAY_WORD_BITS & 1) != 0;
	// No window is smaller than a word: numbers in the word of the highest number are not below
	// the window.
	bool inside = seq / REPLAY_WORD_BITS >= top / REPLAY_WORD_BITS || seq >= replay_lowest(r);

	return (inside && !seen && seq != 0) || r->size == 0;
}

// Accepts seq, once the packet is authenticated. False if it was accepted meanwhile or is below the
// window by now: two copies in one burst both pass replay_check(), but only one is accepted.
bool replay_commit(struct replay *r, uint64_t seq);

// The same for n numbers in turn; sets accepted[i] for each. Ascending numbers of one word cost one
// compare-and-swap together. Returns how many of those accepted are lower than one that was
// accepted before.
uint16_t replay_commit_burst(struct replay *r, const uint64_t seq[], bool accepted[], uint16_t n);

// The same for a single number that replay_check() has accepted, inline as long as its word is that
// of the highest.
static inline __attribute__((always_inline)) uint16_t replay_commit_one(
	struct replay *r, uint64_t seq, bool *accepted)
{
	const uint64_t top = atomic_load_explicit(&r->ring->top, memory_order_relaxed);
	const uint64_t bit = (uint64_t)1 << seq % REPLAY_WORD_BITS;
	_Atomic uint64_t *slot = replay_slot(r, seq);
	uint64_t word = atomic_load_explicit(slot, memory_order_relaxed);
	const bool usual = top / REPLAY_WORD_BITS == seq / REPLAY_WORD_BITS && r->size != 0 &&
			   (uint32_t)(word >> REPLAY_WORD_BITS) == replay_tag(seq) &&
			   (word & bit) == 0;

	if (likely(usual) && atomic_compare_exchange_strong_explicit(slot, &word, word | bit,
				     memory_order_relaxed, memory_order_relaxed)) {
		*accepted = true;
		return (uint32_t)word > bit; // its word has a higher one
	}
	return replay_commit_burst(r, &seq, accepted, 1);
}
