// SPDX-License-Identifier: BSD-3-Clause
#include "replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dpdk_compat.h"
#include "line_memory.h"

// The tag of a word, the low 32 bits of seq / 32, identifies the 32 numbers that it covers. Numbers
// with the same tag are 2^37 apart. The newer of two words is known if they are less than half of
// that apart: no word becomes older, and no number is higher than that above the window.
#define RETAG_EVERY (UINT64_C(1) << 35)

static uint64_t word_bit(uint64_t seq)
{
	return (uint64_t)1 << (seq % REPLAY_WORD_BITS);
}

int replay_init(struct replay *r, uint32_t size)
{
	// A window that is not aligned to words covers part of one more word.
	uint32_t slots = rte_align32pow2(size / REPLAY_WORD_BITS + 2);

	*r = (struct replay){.size = size, .slot_mask = slots - 1};
	r->ring = line_calloc(replay_words(r), sizeof(uint64_t));
	return r->ring != NULL ? 0 : -ENOMEM;
}

void replay_fini(struct replay *r, struct replay_memory *memory)
{
	if (memory != NULL && r->ring != NULL)
		replay_memory_give(memory, (_Atomic uint64_t *)r->ring);
	else
		line_free(r->ring);
	r->ring = NULL;
}

void replay_start_behind(struct replay *r, uint64_t seq)
{
	uint64_t first = seq - RTE_MIN(seq, (uint64_t)r->slot_mask * REPLAY_WORD_BITS);

	// An earlier start may have been at a higher number.
	memset((void *)r->ring->slot, 0, (r->slot_mask + 1) * sizeof(uint64_t));
	atomic_store_explicit(&r->ring->top, seq, memory_order_relaxed);
	for (uint64_t at = first; at / REPLAY_WORD_BITS <= seq / REPLAY_WORD_BITS;
		at += REPLAY_WORD_BITS) {
		uint64_t last = RTE_MIN(at | (REPLAY_WORD_BITS - 1), seq);
		uint64_t seen = word_bit(last) | (word_bit(last) - 1);

		r->ring->slot[replay_tag(at) & r->slot_mask] =
			(uint64_t)replay_tag(at) << REPLAY_WORD_BITS | seen;
	}
}

uint32_t replay_words(const struct replay *r)
{
	return r->slot_mask + 3;
}

int replay_keep_in(struct replay *r, struct replay_memory *memory, const struct key_id *id)
{
	_Atomic uint64_t *words = replay_memory_take(memory, id, replay_words(r));

	if (words == NULL)
		return -errno;
	memcpy((void *)words, (const void *)r->ring, replay_words(r) * sizeof(uint64_t));
	replay_fini(r, NULL);
	r->ring = (struct replay_ring *)words;
	return 0;
}

void replay_take_over(struct replay *r, const _Atomic uint64_t *words, uint32_t n, uint64_t bound)
{
	const uint32_t slots = n > 1 ? rte_align32prevpow2(n - 1) : 0; // the last words
	uint64_t top = 0;

	for (uint32_t i = n - slots; i < n; i++) {
		uint32_t seen = (uint32_t)words[i], tag = (uint32_t)(words[i] >> REPLAY_WORD_BITS);
		int64_t word =
			(int64_t)(bound / REPLAY_WORD_BITS) + (int32_t)(tag - replay_tag(bound));

		if (seen != 0 && word >= 0)
			top = RTE_MAX(top, (uint64_t)word * REPLAY_WORD_BITS + REPLAY_WORD_BITS -
						   1 - (uint64_t)__builtin_clz(seen));
	}
	if (top == 0)
		return;
	replay_start_behind(r, top);
	for (uint32_t i = 0; slots == r->slot_mask + 1 && i < slots; i++)
		r->ring->slot[i] = words[n - slots + i];
}

// Gives every word below the window the tag that its slot has next, with no number seen.
static __rte_cold __rte_noinline void retag_old(struct replay *r, uint64_t top)
{
	for (uint32_t i = 0; i <= r->slot_mask; i++) {
		uint32_t newest = replay_tag(top) - ((replay_tag(top) - i) & r->slot_mask);
		uint64_t word = atomic_load_explicit(&r->ring->slot[i], memory_order_relaxed);

		// Another worker may set a newer tag, or mark a late number under the old one.
		while ((int32_t)((uint32_t)(word >> REPLAY_WORD_BITS) - newest) < 0 &&
			!atomic_compare_exchange_weak_explicit(&r->ring->slot[i], &word,
				(uint64_t)newest << REPLAY_WORD_BITS, memory_order_relaxed,
				memory_order_relaxed))
			;
	}
}

// Marks the numbers of a word whose bits are set. All or none: false if one of them was accepted
// before, or the word has been replaced.
static bool mark(struct replay *r, uint64_t seq, uint64_t bits)
{
	_Atomic uint64_t *slot = replay_slot(r, seq);
	uint64_t word = atomic_load_explicit(slot, memory_order_relaxed);
	uint64_t marked;

	do {
		int32_t age = (int32_t)((uint32_t)(word >> REPLAY_WORD_BITS) - replay_tag(seq));

		if (age > 0) // the window is above this word
			return false;
		if (age < 0)
			marked = (uint64_t)replay_tag(seq) << REPLAY_WORD_BITS | bits;
		else if ((word & bits) != 0)
			return false;
		else
			marked = word | bits;
	} while (!atomic_compare_exchange_weak_explicit(
		slot, &word, marked, memory_order_relaxed, memory_order_relaxed));
	return true;
}

// Raises the field top before seq is marked: marking may replace the word that the field
// identifies by that of seq, and the highest number would be lost.
static void raise_top(struct replay *r, uint64_t seq)
{
	uint64_t top = atomic_load_explicit(&r->ring->top, memory_order_relaxed);

	while (top / REPLAY_WORD_BITS < seq / REPLAY_WORD_BITS &&
		!atomic_compare_exchange_weak_explicit(
			&r->ring->top, &top, seq, memory_order_relaxed, memory_order_relaxed))
		;
	if (unlikely(top < seq && (top ^ seq) >= RETAG_EVERY))
		retag_old(r, seq);
}

// Accepts the numbers of a word, from first to last, whose bits are set, while the window's lowest
// is this. All or none.
static inline __attribute__((always_inline)) bool commit_run(
	struct replay *r, uint64_t lowest, uint64_t first, uint64_t last, uint64_t bits)
{
	if (lowest == 0)
		return true;
	if (first < lowest)
		return false;
	raise_top(r, last);
	return mark(r, first, bits);
}

bool replay_commit(struct replay *r, uint64_t seq)
{
	return commit_run(r, replay_lowest_of(r, replay_top(r)), seq, seq, word_bit(seq));
}

// Number of ascending numbers of one word at the front, which may all be accepted. Sets *bits to
// theirs.
static inline __attribute__((always_inline)) uint16_t rising(
	const uint64_t seq[], bool accepted[], uint16_t n, uint64_t *bits)
{
	uint16_t i = 1;

	*bits = word_bit(seq[0]);
	accepted[0] = true;
	for (; i < n && seq[i] > seq[i - 1] &&
		seq[i] / REPLAY_WORD_BITS == seq[0] / REPLAY_WORD_BITS;
		i++) {
		*bits |= word_bit(seq[i]);
		accepted[i] = true;
	}
	return i;
}

// Accepts ascending numbers of a word one by one, unless all are accepted already. Returns how many
// of them are lower than newest.
static __attribute__((noinline)) uint16_t commit_each(struct replay *r, const uint64_t seq[],
	bool accepted[], uint16_t n, bool all, uint64_t newest)
{
	uint16_t n_late = 0;

	for (uint16_t i = 0; i < n; i++) {
		accepted[i] = all || replay_commit(r, seq[i]);
		n_late = (uint16_t)(n_late + (accepted[i] && seq[i] < newest));
	}
	return n_late;
}

uint16_t replay_commit_burst(struct replay *r, const uint64_t seq[], bool accepted[], uint16_t n)
{
	uint64_t newest = 0; // that was accepted, also if there is no window
	uint16_t n_late = 0;

	for (uint16_t i = 0, end; i < n; i = end) {
		uint64_t bits;
		bool all;

		end = (uint16_t)(i + rising(&seq[i], &accepted[i], (uint16_t)(n - i), &bits));
		newest = RTE_MAX(newest, replay_top(r));
		all = commit_run(r, replay_lowest_of(r, newest), seq[i], seq[end - 1], bits);
		if (unlikely(!all || seq[i] < newest))
			n_late = (uint16_t)(n_late + commit_each(r, &seq[i], &accepted[i],
							     (uint16_t)(end - i), all, newest));
		if (likely(all))
			newest = RTE_MAX(newest, seq[end - 1]);
	}
	return n_late;
}
