// SPDX-License-Identifier: BSD-3-Clause
// The floor: only the cryptography of a batch, with the gateways' keys, algorithm and engine, on
// the same packets in the same order and at the same offset in their buffers. Each lane has one.
#pragma once

#include <rte_mbuf.h>

#include "batch.h"
#include "crypto.h"

struct floor {
	const struct point *point;
	unsigned int worker;
	struct crypto_session **seal, **open; // indexed by SA
	// Indexed by packet; complete but for the address of the packet.
	struct crypto_op to_seal[BATCH_MAX], to_open[BATCH_MAX];
	int seal_off, open_off; // octets from the frame to the ESP header
};

// Ends the program on failure.
struct floor *floor_new(const struct point *p, unsigned int worker);
void floor_free(struct floor *f);

// Prepares the operations for a batch of clear packets: sealing them, and opening the results in
// place.
void floor_prepare_clear(struct floor *f, const struct batch *b);

// Prepares the operations for opening a batch of sealed packets.
void floor_prepare_sealed(struct floor *f, const struct batch *b);

// Whether all prepared operations have been executed successfully.
bool floor_ok(const struct floor *f, const struct batch *b);

// Runs the operations of n packets of the batch, in buffers as they were received.
static inline void floor_seal(
	struct floor *f, struct rte_mbuf *const m[], unsigned int first, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++)
		f->to_seal[first + i].esp = rte_pktmbuf_mtod(m[i], uint8_t *) + f->seal_off;
	crypto_seal(&f->to_seal[first], n, f->worker);
}

static inline void floor_open(
	struct floor *f, struct rte_mbuf *const m[], unsigned int first, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++)
		f->to_open[first + i].esp = rte_pktmbuf_mtod(m[i], uint8_t *) + f->open_off;
	crypto_open(&f->to_open[first], n, f->worker);
}
