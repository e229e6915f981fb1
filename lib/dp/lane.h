// SPDX-License-Identifier: BSD-3-Clause
// A lane: bursts that one worker, its keeper, puts in, that any worker claims and processes, and
// that the keeper takes out in the order in which it has put them in. There is no lock: a burst has
// one owner at any time, its state names it.
//
//   keeper: lane_open(), fill it, lane_put()      any worker: lane_claim(), process it, lane_done()
//   keeper: lane_first(), use it, lane_remove()
//
// Only indices are here; bursts are the caller's, one for each index (fanout.h).
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>

#define LANE_BURSTS 64 // a power of 2
#define LANE_NONE   UINT32_MAX

struct lane {
	// Written by the keeper.
	uint32_t head; // bursts put in, in total; wraps, as the others
	uint32_t tail; // taken out
	uint32_t room; // bursts at once, at most LANE_BURSTS; constant
	// The first burst that nobody has claimed; written by any worker.
	_Atomic uint32_t next __rte_cache_aligned;
	// The number of the burst at each index, and its state. Written by the burst's owner.
	_Atomic uint32_t state[LANE_BURSTS] __rte_cache_aligned;
};

// Makes it empty. Control thread.
void lane_init(struct lane *l, uint32_t room);

// Keeper: the index of a burst to be filled; LANE_NONE: the lane is full.
uint32_t lane_open(const struct lane *l);

// Keeper: puts that burst in. Unless shared, only the keeper may process it, once it is the first
// one.
void lane_put(struct lane *l, bool shared);

// Any worker: the index of a burst that it owns now; LANE_NONE: there is none.
uint32_t lane_claim(struct lane *l);

// The worker that has claimed the burst: gives it back to the keeper.
void lane_done(struct lane *l, uint32_t index);

// Keeper: the index of the oldest burst if it was processed, or is the keeper's to process; else
// LANE_NONE.
uint32_t lane_first(const struct lane *l);

// Keeper: takes that burst out.
void lane_remove(struct lane *l);

// Keeper: bursts in the lane.
static inline uint32_t lane_count(const struct lane *l)
{
	return l->head - l->tail;
}

// Keeper: bursts that nobody has claimed yet, as far as can be seen.
uint32_t lane_unclaimed(const struct lane *l);

// Any worker: whether lane_claim() would find a burst, as far as can be seen.
bool lane_has_unclaimed(const struct lane *l);
