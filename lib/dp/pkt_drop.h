// SPDX-License-Identifier: BSD-3-Clause
// Ends of packets in the gateway: dropped, or processed. Each is counted and traced, drops are
// audited. Workers.
#pragma once

#include "worker.h"

// Counts a packet as dropped for the reason and releases its buffer.
void pkt_drop(struct worker *w, const struct pkt *p, enum drop reason);

// Counts a packet that is left in a queue when workers stop, or were frozen, as DROP_SHUTDOWN, and
// releases its buffer.
void pkt_drop_left(struct worker *w, struct rte_mbuf *m);

// Counts a packet as processed by the gateway, and releases its buffer. Returns DROP_NONE.
enum drop pkt_consume(struct worker *w, const struct pkt *p);

// A stage processes one packet. It returns DROP_NONE, or the reason to drop it.
typedef enum drop (*stage_fn)(struct worker *w, struct pkt *p);

// Applies a stage to every packet of a burst, drops packets that it rejects, and keeps the order of
// the others.
static __rte_always_inline void burst_apply(struct worker *w, struct burst *b, stage_fn stage)
{
	uint16_t kept = 0;

	for (uint16_t i = 0; i < b->n; i++) {
		enum drop d = stage(w, b->p[i]);

		if (likely(d == DROP_NONE))
			b->p[kept++] = b->p[i];
		else
			pkt_drop(w, b->p[i], d);
	}
	b->n = kept;
}
