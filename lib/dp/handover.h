// SPDX-License-Identifier: BSD-3-Clause
// Packets that a worker hands over to another one, in order, through the rings of struct worker.
// The pointers of a packet are those of a snapshot that the other worker may have replaced
// meanwhile: it looks the SA up again if it has. The rings have buffers, in which the packets are
// (struct handed). Workers.
#pragma once

#include "worker.h"

// The packet in a buffer. Also in an indirect or external one, since it is of a pool of the worker.
static inline struct handed *handed_of(struct rte_mbuf *m)
{
	return (struct handed *)rte_mbuf_to_priv(m);
}

// Begins to load the packets in n buffers.
static inline void handed_prefetch(struct rte_mbuf *const m[], unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		rte_prefetch0(handed_of(m[i]));
}

// Copies the packet in a buffer, without next hop.
static inline void handed_copy(struct pkt *p, struct rte_mbuf *m)
{
	*p = handed_of(m)->p;
	p->m = m;
	p->nexthop = NULL;
}

// Puts n packets out of tunnels, or for the tunnels p->sa_out, into their buffers.
void handover_fill(struct worker *w, struct pkt *const p[], unsigned int n);

// Hands n packets over, in order: out of tunnels, to the worker of their flows; for tunnels, to the
// worker that allocates their sequence numbers. Packets for which its ring has no room are dropped.
void handover_inner(struct worker *w, unsigned int to, struct rte_mbuf *const m[], unsigned int n);
void handover_departing(
	struct worker *w, unsigned int to, struct rte_mbuf *const m[], unsigned int n);

// Hands one packet out of a tunnel over, unless it belongs to this worker: then it returns false,
// and does nothing.
bool handover_enqueue(struct worker *w, struct pkt *p, unsigned int owner);

// Whether other workers have handed packets out of tunnels over to this one.
bool handover_pending(const struct worker *w);

// Dequeues at most n of these into packets of the pass, and returns how many. The caller owns them.
// One whose SA is gone is dropped.
uint16_t handover_dequeue(struct worker *w, struct pkt *p[], uint16_t n);

// The same for packets for tunnels, which stay as they were handed over.
uint16_t handover_dequeue_departing(struct worker *w, struct rte_mbuf *m[], uint16_t n);

// The SA of a packet that was handed over, as this worker's snapshot has it; NULL: it is gone. A
// packet for a tunnel forgets the policy that has admitted it if the snapshot is another one.
struct sa_in *handover_sa_in(const struct worker *w, const struct handed *h);
struct sa_out *handover_sa_out(const struct worker *w, struct handed *h);

// Drops a packet whose SA is gone.
void handover_drop_in(struct worker *w, struct rte_mbuf *m);
void handover_drop_out(struct worker *w, struct rte_mbuf *m);

// Drops the packets in the rings, when the worker stops.
void handover_stop(struct worker *w);
