// SPDX-License-Identifier: BSD-3-Clause
// Fragments out of tunnels, given to the worker that puts their packet together. The ESP packets
// that brought them may have come to any: of another SA while keys are changed, or cut on their way
// where the others were not. Workers.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct pkt;
struct worker;

// Gives the fragment in p, which came out of an SA, to the worker that the hash belongs to. True:
// that has it, or it is counted as dropped; false: it is this worker.
bool handover_enqueue(struct worker *w, struct pkt *p, uint64_t hash);

// Whether others have given this worker something.
bool handover_pending(const struct worker *w);

// Sorts at most n fragments that others have given this worker, as if they had just come out of
// their SAs.
void handover_dequeue(struct worker *w, uint16_t n);

// Drops what others have given this worker, when it stops.
void handover_stop(struct worker *w);
