// SPDX-License-Identifier: BSD-3-Clause
// The traffic of a lane: batches of packets through the two gateways, made ready to be measured.
// Nothing here is timed. A packet that is lost or wrong ends the program.
#pragma once

#include "gateway_pair.h"
#include "nic.h"

struct traffic {
	const struct point *point;
	struct rte_mempool *pool;
	struct gateway_pair *pair;
	struct batch *batch;
	unsigned int lane;
};

// Receives n packets of the batch, from first on.
static inline void traffic_receive(const struct traffic *t, struct rte_mbuf *m[],
	unsigned int first, uint16_t n, uint16_t port)
{
	nic_receive(t->pool, m, t->batch, first, n, port);
}

// Passes n packets through both gateways. Packets that the far one sends are in the returned
// buffer, which the caller empties.
struct tx_buffer *traffic_pass_both(const struct traffic *t, unsigned int first, uint16_t n);

// Sends a packet of every flow, and then compares a whole batch that has passed both gateways.
void traffic_prepare(const struct traffic *t);

// Makes the next batch, sealed by the near gateway if the point is about the far one.
void traffic_fill(const struct traffic *t);
