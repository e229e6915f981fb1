// SPDX-License-Identifier: BSD-3-Clause
#include "handover.h"

#include "pkt_drop.h"
#include "tracepoint.h"

void handover_fill(struct worker *w, struct pkt *const p[], unsigned int n)
{
	const uint32_t generation = w->snapshot->generation;
	const bool large = w->n_large > 0;

	for (unsigned int i = 0; i < n; i++) {
		struct handed *h = handed_of(p[i]->m);

		h->p = *p[i];
		h->trace = 0;
		h->large = large;
		h->generation = generation;
		h->spi = p[i]->sa_out != NULL ? p[i]->sa_out->sa.spi : p[i]->sa_in->sa.spi;
		if (unlikely(w->tracing != NULL))
			trace_hand(w, h, p[i]);
	}
}

static __rte_cold __rte_noinline void drop_unqueued(
	struct worker *w, struct rte_mbuf *const m[], unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		const struct handed *h = handed_of(m[i]);
		struct pkt p;

		handed_copy(&p, m[i]);
		if (unlikely(h->trace != 0))
			trace_take(w, &p, h);
		pkt_drop(w, &p, DROP_RING_FULL);
	}
}

static void enqueue(struct worker *w, struct rte_ring *ring, unsigned int to,
	struct rte_mbuf *const m[], unsigned int n)
{
	unsigned int taken = rte_ring_enqueue_burst(ring, (void *const *)m, n, NULL);

	w->n_handed += taken;
	w->to_wake |= 1u << to;
	if (unlikely(taken < n))
		drop_unqueued(w, m + taken, n - taken);
}

void handover_inner(struct worker *w, unsigned int to, struct rte_mbuf *const m[], unsigned int n)
{
	enqueue(w, w->peers[to]->handed, to, m, n);
}

void handover_departing(
	struct worker *w, unsigned int to, struct rte_mbuf *const m[], unsigned int n)
{
	enqueue(w, w->peers[to]->departing, to, m, n);
}

bool handover_enqueue(struct worker *w, struct pkt *p, unsigned int owner)
{
	if (likely(w->n_workers <= 1) || owner == w->id)
		return false;
	trace_note(w, p, TRACE_HANDED, (struct trace_fact){0});
	handover_fill(w, &p, 1);
	handover_inner(w, owner, &p->m, 1);
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

void handover_drop_in(struct worker *w, struct rte_mbuf *m)
{
	struct pkt p;

	handed_copy(&p, m);
	ip_layout_read(&p.ip, pkt_ip(&p)); // for the audit log
	p.sa_in = NULL;
	trace_continue(w, &p, handed_of(m));
	pkt_drop(w, &p, DROP_NO_SA);
}

void handover_drop_out(struct worker *w, struct rte_mbuf *m)
{
	struct pkt p;

	handed_copy(&p, m);
	p.sa_out = NULL;
	trace_continue(w, &p, handed_of(m));
	pkt_drop(w, &p, DROP_SA_REMOVED);
}

uint16_t handover_dequeue(struct worker *w, struct pkt *p[], uint16_t n)
{
	struct rte_mbuf *m[RX_BURST_MAX];
	uint16_t kept = 0;

	n = (uint16_t)rte_ring_dequeue_burst(w->handed, (void **)m, n, NULL);
	w->n_handed -= n;
	for (uint16_t i = 0; i < n; i++)
		rte_prefetch0(m[i]);
	handed_prefetch(m, n);
	for (uint16_t i = 0; i < n; i++) {
		const struct handed *h = handed_of(m[i]);

		rte_prefetch0(rte_pktmbuf_mtod(m[i], void *));
		if (unlikely(handover_sa_in(w, h) == NULL)) {
			handover_drop_in(w, m[i]);
			continue;
		}
		p[kept] = pkt_new(w);
		handed_copy(p[kept], m[i]);
		trace_continue(w, p[kept++], h);
	}
	return kept;
}

uint16_t handover_dequeue_departing(struct worker *w, struct rte_mbuf *m[], uint16_t n)
{
	n = (uint16_t)rte_ring_dequeue_burst(w->departing, (void **)m, n, NULL);
	w->n_handed -= n;
	return n;
}

static void drop_all(struct worker *w, struct rte_ring *ring)
{
	struct rte_mbuf *m;

	while (rte_ring_dequeue(ring, (void **)&m) == 0) {
		w->n_handed--;
		pkt_drop_left(w, m);
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
