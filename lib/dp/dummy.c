// SPDX-License-Identifier: BSD-3-Clause
#include "dummy.h"

#include "ip_view.h"
#include "output.h"
#include "tfc.h"

#define SAS_MAX 256 // considered in one pass; the others follow in later ones

// Number of dummies to reach the rate of the SA. All workers' packets count, by their sequence
// numbers, dummies included. An excess is not carried over.
static uint32_t dummies_due(const struct worker *w, struct sa_out *sa)
{
	struct sa_dummies *d = &sa->dummies;
	uint64_t seq = sa_out_seq(sa);
	uint64_t due =
		d->time == 0 ? 0 : RTE_MIN(w->now - d->time, w->tsc_hz) * sa->sa.opt.tfc_dummies;
	uint64_t sent = RTE_MIN(seq - d->seq, UINT64_C(1000000)) * w->tsc_hz;

	d->missing += due;
	d->missing -= RTE_MIN(d->missing, sent);
	// Nothing is made up for after a time without a route to the peer.
	d->missing = RTE_MIN(d->missing, due + w->tsc_hz);
	d->seq = seq;
	d->time = w->now;
	return (uint32_t)(d->missing / w->tsc_hz);
}

static bool is_usable(struct worker *w, const struct sa_out *sa, const struct sa_path *path)
{
	uint64_t limit = atomic_load_explicit(&sa->sa.per_packet.seq_limit, memory_order_relaxed);
	const struct ip_addr to = ip_dst(path->outer, ip_is_v4(path->outer));

	return path->nexthop != NULL && sa_out_seq(sa) < limit &&
	       tfc_len(&sa->sa.per_packet, path) > 0 && output_ready(w, path->nexthop, &to);
}

static bool dummy_add(struct worker *w, struct sa_out *sa, const struct sa_path *path)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(w->pool);
	struct pkt *p;

	if (m == NULL)
		return false;
	if (!tfc_dummy_write(m, tfc_len(&sa->sa.per_packet, path))) {
		rte_pktmbuf_free(m);
		return false;
	}
	p = pkt_new(w);
	*p = (struct pkt){.m = m, .sa_out = sa, .own = true};
	burst_add(&w->protect, p);
	w->counters.originated++;
	sa->per_worker[w->id].dummies++;
	return true;
}

// The dummies of an SA are always made by the same worker.
static bool is_mine(const struct worker *w, const struct sa *sa)
{
	unsigned int n_workers = sa->n_workers - 1; // without the control thread

	return (rte_be_to_cpu_32(sa->spi) * 2654435761u >> 16) % n_workers == w->id;
}

static void dummies_fill(struct worker *w, struct sa_out *sa)
{
	const struct sa_path *path = sa_out_path(sa);
	uint32_t n = dummies_due(w, sa);

	if (n == 0 || !is_usable(w, sa, path))
		return;
	n = RTE_MIN(n, (uint32_t)(DUMMIES_MAX - w->protect.n));
	while (n > 0 && dummy_add(w, sa, path))
		n--;
}

void dummies_add(struct worker *w)
{
	const struct snapshot *s = w->snapshot;
	uint32_t n = RTE_MIN(s->n_dummies, (uint32_t)SAS_MAX);

	for (; n > 0 && w->protect.n < DUMMIES_MAX; n--) {
		struct sa_out *sa = s->dummies[w->dummies_next++ % s->n_dummies];

		if (is_mine(w, &sa->sa))
			dummies_fill(w, sa);
	}
}
