// SPDX-License-Identifier: BSD-3-Clause
// Frames to be received: made while the clock is stopped, one batch at a time. Each lane, that is
// each worker's thread, has its own batches.
#pragma once

#include <stdint.h>

#include <rte_common.h>

#include "point.h"

// A batch is small enough for the second level cache, beside the memory that the gateways need
// there: a card that writes into caches would leave frames as close to the core.
#define BATCH_MAX    1024 // packets
#define BATCH_OCTETS (RTE_CACHE_LINE_SIZE * 4096)

// A number that is unique to each packet: the first octets after its UDP header.
#define MARK_OFF    (14 + 20 + 8) // offset in the frame
#define MARK_OFF_V6 (14 + 40 + 8)

struct batch {
	unsigned int n;           // packets
	unsigned int warm;        // the first packets, which are not measured: they fill the caches
	uint32_t stride;          // octets from frame to frame
	uint8_t *frame;           // n frames
	uint16_t len[BATCH_MAX];  // octets
	uint64_t mark[BATCH_MAX]; // inner length; of sealed packets as well
	uint16_t sa[BATCH_MAX];   // number of the packet's SA
	// State of the generator of packets:
	const struct point *point;
	unsigned int lane;
	uint64_t random;
	uint64_t next_mark;
	uint32_t seen; // flows of this lane that have had a packet
};

// Allocates; ends the program if there is no memory.
struct batch *batch_new(const struct point *p, unsigned int lane);
void batch_free(struct batch *b);

// Flows of this lane. All packets of a flow are in the same lane.
uint32_t batch_flows(const struct batch *b);

// Fills the batch with clear packets: first one of every flow, then of flows at random.
void batch_fill(struct batch *b);

// Replaces a frame by the packet that was made of it.
void batch_replace(struct batch *b, unsigned int i, const uint8_t *frame, uint16_t len);

static inline uint8_t *batch_frame(const struct batch *b, unsigned int i)
{
	return b->frame + (size_t)i * b->stride;
}
