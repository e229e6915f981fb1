// SPDX-License-Identifier: BSD-3-Clause
// The gateways that packets are thrown at. After every input the books have to balance, and at the
// end all packet buffers have to be back.
#pragma once

#include "peer.h"

#define FUZZ_PIECES_MAX 8

// At start, before any gateway is made.
void fuzz_gateway_start(void);

// One of them, at most two; it is freed at the end.
struct gateway *fuzz_gateway_add(struct gateway *g);

// Passes the frames, then lets a millisecond go by.
void fuzz_gateway_pass(struct gateway *g, struct rte_mbuf *m[], unsigned int n);

// Cuts the IP packet of the first frame, of either family, into fragments that bring at least step
// octets each; they take its place, the last one first. One that cannot be cut stays as it is.
// Returns how many there are, at most FUZZ_PIECES_MAX.
unsigned int fuzz_cut(struct frame piece[FUZZ_PIECES_MAX], uint16_t step);
