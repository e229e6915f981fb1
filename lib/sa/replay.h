// SPDX-License-Identifier: BSD-3-Clause
// Anti-replay window of an inbound SA (RFC 4303 3.4.3), of any size and for 64-bit sequence
// numbers. Workers, any number at once: there is no lock and no packet is accepted twice.
//
// The window is a ring of words, each covering 32 consecutive numbers: the low half says which of
// them were seen, the high half which 32 they are. A word thus carries its own meaning, so one
// compare-and-swap both recognises a stale word and marks the number, and nothing has to be cleared
// when the window moves on.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct replay {
	uint32_t size;          // packets; 0: every number is accepted. Constant.
	uint32_t slot_mask;     // words in the ring - 1. Constant.
	_Atomic uint64_t top;   // highest number accepted. Written by workers.
	_Atomic uint64_t *slot; // written by workers
};

// Makes a window of size packets: 0 or 32 to 65536. Control thread. Returns 0 or -ENOMEM.
int replay_init(struct replay *r, uint32_t size);

void replay_fini(struct replay *r);

// Begins to look at seq, so that memory comes while others are read.
void replay_seek(const struct replay *r, uint64_t seq);

// Before the ICV is checked: whether seq (host byte order) may still be accepted. Number 0 never
// is.
bool replay_check(const struct replay *r, uint64_t seq);

// After the ICV was found right: accepts seq. False if it was accepted meanwhile or has fallen out
// of the window: two copies in one burst both pass the check, but only one commits.
bool replay_commit(struct replay *r, uint64_t seq);

// The same for n numbers, one after the other; accepted[i] says which were. Numbers that come in
// their order cost one step for all that share a word.
void replay_commit_burst(struct replay *r, const uint64_t seq[], bool accepted[], uint16_t n);
