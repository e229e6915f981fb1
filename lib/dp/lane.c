// SPDX-License-Identifier: BSD-3-Clause
#include "lane.h"

#include <rte_branch_prediction.h>

// Phase of a burst, in the low bits of its state. Its number is above, so that the state of an
// earlier burst at the same index is not taken for it.
enum {
	EMPTY,
	READY, // to be claimed
	LAST,  // for the keeper alone, once it is the first one
	DONE,  // processed
	STATES_SHIFT = 2,
};

static uint32_t state_of(uint32_t number, uint32_t what)
{
	return number << STATES_SHIFT | what;
}

static uint32_t index_of(uint32_t number)
{
	return number % LANE_BURSTS;
}

void lane_init(struct lane *l, uint32_t room)
{
	*l = (struct lane){.room = RTE_MIN(room, (uint32_t)LANE_BURSTS)};
	// No state of burst 0.
	for (uint32_t i = 0; i < LANE_BURSTS; i++)
		atomic_init(&l->state[i], state_of(i - LANE_BURSTS, EMPTY));
}

uint32_t lane_open(const struct lane *l)
{
	return lane_count(l) < l->room ? index_of(l->head) : LANE_NONE;
}

void lane_put(struct lane *l, bool shared)
{
	atomic_store_explicit(&l->state[index_of(l->head)],
		state_of(l->head, shared ? READY : LAST), memory_order_release);
	l->head++;
}

uint32_t lane_unclaimed(const struct lane *l)
{
	return l->head - atomic_load_explicit(&l->next, memory_order_relaxed);
}

bool lane_has_unclaimed(const struct lane *l)
{
	uint32_t number = atomic_load_explicit(&l->next, memory_order_relaxed);
	uint32_t state = atomic_load_explicit(&l->state[index_of(number)], memory_order_relaxed);

	return state == state_of(number, READY) || state == state_of(number, LAST);
}

uint32_t lane_claim(struct lane *l)
{
	uint32_t number = atomic_load_explicit(&l->next, memory_order_relaxed);

	for (;;) {
		// Acquire: the content that the keeper has put in.
		uint32_t state =
			atomic_load_explicit(&l->state[index_of(number)], memory_order_acquire);

		if (state != state_of(number, READY) && state != state_of(number, LAST))
			return LANE_NONE;
		if (!atomic_compare_exchange_weak_explicit(&l->next, &number, number + 1,
			    memory_order_relaxed, memory_order_relaxed))
			continue;
		if (state == state_of(number, READY))
			return index_of(number);
		number++; // the keeper's
	}
}

void lane_done(struct lane *l, uint32_t index)
{
	uint32_t state = atomic_load_explicit(&l->state[index], memory_order_relaxed);

	atomic_store_explicit(
		&l->state[index], state_of(state >> STATES_SHIFT, DONE), memory_order_release);
}

uint32_t lane_first(const struct lane *l)
{
	uint32_t state = atomic_load_explicit(&l->state[index_of(l->tail)], memory_order_acquire);

	return state == state_of(l->tail, DONE) || state == state_of(l->tail, LAST)
		       ? index_of(l->tail)
		       : LANE_NONE;
}

void lane_remove(struct lane *l)
{
	uint32_t number = l->tail++;
	uint32_t state = atomic_load_explicit(&l->state[index_of(number)], memory_order_relaxed);

	// Unless a worker has skipped it: the next burst to claim comes after it.
	if (state == state_of(number, LAST))
		atomic_compare_exchange_strong_explicit(
			&l->next, &number, number + 1, memory_order_relaxed, memory_order_relaxed);
}
