// SPDX-License-Identifier: BSD-3-Clause
// The gateways that receive fuzzed packets. After every input the books have to balance, and at the
// end all packet buffers have to be free.
#pragma once

#include "peer.h"

#define FUZZ_FRAGMENTS_MAX 8

// Called at start, before any gateway is made.
void fuzz_gateway_start(void);

// Makes one gateway of at most two; it is freed at the end.
struct gateway *fuzz_gateway_add(struct gateway *g);

// Runs a pass over the frames, then advances time by a millisecond.
void fuzz_gateway_pass(struct gateway *g, struct rte_mbuf *m[], unsigned int n);

// Fragments the IP packet of the first frame, of either family; each fragment has at least step
// octets of payload. The fragments replace it, the last one first. A packet that cannot be
// fragmented is not changed. Returns the number of fragments, at most FUZZ_FRAGMENTS_MAX.
unsigned int fuzz_fragment(struct frame piece[FUZZ_FRAGMENTS_MAX], uint16_t step);
