// SPDX-License-Identifier: BSD-3-Clause
#include "handover.h"

#include "pkt_drop.h"
#include "tracepoint.h"

void handover_fill(struct worker *w, struct handed *h, const struct pkt *p)
{
	h->p = *p;
	h->trace = 0;
	if (unlikely(w->tracing != NULL))
		trace_hand(w, h, p);
	h->generation = w->snapshot->generation;
	h->spi = p->sa_out != NULL ? p->sa_out->sa.spi : p->sa_in->sa.spi;
	h->large = w->n_large > 0;
}

static void enqueue(
	struct worker *w, struct rte_ring *ring, unsigned int to, struct handed h[], unsigned int n)
{
	unsigned int taken = rte_ring_enqueue_burst_elem(ring, h, sizeof(*h), n, NULL);

	w->n_handed += taken;
	w->to_wake |= 1u << to;
	for (; unlikely(taken < n); taken++) {
		if (unlikely(h[taken].trace != 0))
			trace_take(w, &h[taken].p, &h[taken]);
		pkt_drop(w, &h[taken].p, DROP_RING_FULL);
	}
}

void handover_inner(struct worker *w, unsigned int to, struct handed h[], unsigned int n)
{
	enqueue(w, w->peers[to]->handed, to, h, n);
}

void handover_departing(struct worker *w, unsigned int to, struct handed h[], unsigned int n)
{
	enqueue(w, w->peers[to]->departing, to, h, n);
}

bool handover_enqueue(struct worker *w, struct pkt *p, unsigned int owner)
{
	struct handed h;

	if (likely(w->n_workers <= 1) || owner == w->id)
		return false;
	trace_note(w, p, TRACE_HANDED, (struct trace_fact){0});
	handover_fill(w, &h, p);
	handover_inner(w, owner, &h, 1);
	return true;
}

bool handover_pending(const struct worker *w)
{
	return w->n_workers > 1 && !rte_ring_empty(w->handed);
}

struct sa_in *handover_sa_in(const struct worker *w, const struct handed *h)
{
	if (likely(h->generation == w->snapshot->generation))
		return h->p.sa_in;
	return snapshot_find_in(w->snapshot, h->spi) == h->p.sa_in ? h->p.sa_in : NULL;
}

static bool is_same(const void *sa, const struct sa_out *found)
{
	return found == sa;
}

struct sa_out *handover_sa_out(const struct worker *w, struct handed *h)
{
	if (likely(h->generation == w->snapshot->generation))
		return h->p.sa_out;
	h->p.in_by = 0; // the policy may be gone as well
	return sad_find_out(w->snapshot->objects->sad_out, h->spi, is_same, h->p.sa_out);
}

static void drop(struct worker *w, struct handed *h, enum drop reason)
{
	trace_continue(w, &h->p, h);
	pkt_drop(w, &h->p, reason);
}

void handover_drop_in(struct worker *w, struct handed *h)
{
	ip_layout_read(&h->p.ip, pkt_ip(&h->p)); // for the audit log
	h->p.sa_in = NULL;
	drop(w, h, DROP_NO_SA);
}

void handover_drop_out(struct worker *w, struct handed *h)
{
	h->p.sa_out = NULL;
	drop(w, h, DROP_SA_REMOVED);
}

uint16_t handover_dequeue(struct worker *w, struct pkt *p[], uint16_t n)
{
	struct handed h[RX_BURST_MAX];
	uint16_t kept = 0;

	n = (uint16_t)rte_ring_dequeue_burst_elem(w->handed, h, sizeof(h[0]), n, NULL);
	w->n_handed -= n;
	for (uint16_t i = 0; i < n; i++)
		rte_prefetch0(h[i].p.m);
	for (uint16_t i = 0; i < n; i++) {
		struct sa_in *sa = handover_sa_in(w, &h[i]);

		rte_prefetch0(rte_pktmbuf_mtod(h[i].p.m, void *));
		if (unlikely(sa == NULL)) {
			handover_drop_in(w, &h[i]);
			continue;
		}
		p[kept] = pkt_new(w);
		*p[kept] = h[i].p;
		trace_continue(w, p[kept++], &h[i]);
	}
	return kept;
}

uint16_t handover_dequeue_departing(struct worker *w, struct handed h[], uint16_t n)
{
	n = (uint16_t)rte_ring_dequeue_burst_elem(w->departing, h, sizeof(h[0]), n, NULL);
	w->n_handed -= n;
	return n;
}

static void drop_all(struct worker *w, struct rte_ring *ring)
{
	struct handed h;

	while (rte_ring_dequeue_elem(ring, &h, sizeof(h)) == 0) {
		w->n_handed--;
		pkt_drop_left(w, h.p.m);
	}
}

void handover_stop(struct worker *w)
{
	struct rte_mbuf *m;

	while (rte_ring_dequeue(w->frames, (void **)&m) == 0) {
		w->counters.rx++;
		pkt_drop_left(w, m);
	}
	drop_all(w, w->handed);
	drop_all(w, w->departing);
}
