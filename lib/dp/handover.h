// SPDX-License-Identifier: BSD-3-Clause
// Fragments from tunnels, handed over to the worker that reassembles their datagram. The ESP
// packets that carried them may have arrived at any worker: of another SA during a rekey, or
// fragmented on their path where the others were not. Workers.
#pragma once

#include "worker.h"

// Hands the fragment in p, which was decapsulated, over to the worker that the hash belongs to.
// True: it is enqueued there, or counted as dropped. False: it belongs to this worker.
bool handover_enqueue(struct worker *w, struct pkt *p, uint64_t hash);

// Whether other workers have handed fragments over to this one.
bool handover_pending(const struct worker *w);

// Dequeues at most n of them: m[i]->hash.usr is the SPI of the SA that each came from, m[i]->port
// its ingress port. Returns how many. The caller owns them.
uint16_t handover_dequeue(struct worker *w, struct rte_mbuf *m[], uint16_t n);

// Drops them, when the worker stops.
void handover_stop(struct worker *w);
