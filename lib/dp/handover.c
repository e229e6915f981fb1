// SPDX-License-Identifier: BSD-3-Clause
#include "handover.h"

#include "pkt_drop.h"
#include "tracepoint.h"

bool handover_enqueue(struct worker *w, struct pkt *p, uint64_t hash)
{
	uint32_t owner = (uint32_t)((hash >> 32) * w->n_workers >> 32);

	if (likely(w->n_workers <= 1) || owner == w->id)
		return false;
	trace_note(w, p, TRACE_HANDED, (struct trace_fact){0});
	// The other worker looks the SA up: it may be gone by then.
	p->m->hash.usr = p->sa_in->sa.spi;
	p->m->port = p->port;
	if (rte_ring_enqueue(w->peers[owner]->handed, p->m) < 0)
		pkt_drop(w, p, DROP_RING_FULL);
	else
		w->n_handed++;
	return true;
}

bool handover_pending(const struct worker *w)
{
	return w->n_workers > 1 && !rte_ring_empty(w->handed);
}

uint16_t handover_dequeue(struct worker *w, struct rte_mbuf *m[], uint16_t n)
{
	n = (uint16_t)rte_ring_dequeue_burst(w->handed, (void **)m, n, NULL);
	w->n_handed -= n;
	return n;
}

void handover_stop(struct worker *w)
{
	struct rte_mbuf *m;

	while (rte_ring_dequeue(w->handed, (void **)&m) == 0) {
		w->n_handed--;
		pkt_drop(w, &(struct pkt){.m = m}, DROP_SHUTDOWN);
	}
}
