// SPDX-License-Identifier: BSD-3-Clause
#include "hold.h"

#include "buffer.h"
#include "decided_run.h"
#include "handover.h"
#include "pkt_drop.h"
#include "tracepoint.h"

// Whether the packet is for or of a group that is expected: by its ends, as received or translated,
// or by its SA. In the middle of a change of roles these may differ.
static bool is_expected(const struct worker *w, const struct pkt *p)
{
	const struct ip_addr src = pkt_src(p), dst = pkt_dst(p);

	return dad_is_expected(w->dad, &dst) || dad_is_expected(w->dad, &src) ||
	       (worker_translates(w) && dad_is_expected(w->dad, &w->translating->src)) ||
	       (p->sa_out != NULL && dad_is_expected(w->dad, &p->sa_out->sa.opt.local));
}

// Whether the packet can be evaluated again as it is: it comes from a link or out of a tunnel.
static bool is_whole(const struct worker *w, const struct pkt *p)
{
	return !p->own && !pkt_iface(w, p)->is_host && !pkt_is_oversized(p) &&
	       (p->m->ol_flags & BUFFER_FOREIGN) == 0;
}

static bool has_room(const struct hold *hold, uint16_t n_buffers)
{
	return hold->n_buffers + n_buffers <= hold->max;
}

// Of the packet only the fields that it was received with.
static void hold(struct worker *w, struct pkt *p, uint32_t roles)
{
	struct hold *hold = &w->hold;
	struct handed *h = &hold->at[(hold->first + hold->n) % hold->max];

	*h = (struct handed){.p = {.m = p->m,
				     .sa_in = p->sa_in,
				     .iface = p->iface,
				     .refrag_size = p->refrag_size,
				     .frag_id = p->frag_id,
				     .framed = p->framed,
				     .segments = p->segments},
		.generation = w->snapshot->generation,
		.spi = p->sa_in != NULL ? p->sa_in->sa.spi : 0};
	trace_note(w, p, TRACE_EXPECTED, (struct trace_fact){0});
	trace_hand(w, h, p);
	if (hold->n == 0)
		hold->roles = roles;
	hold->n++;
	hold->n_buffers += p->m->nb_segs;
	w->next_tick = 0;
}

enum drop hold_instead(struct worker *w, struct pkt *p, enum drop reason)
{
	struct rte_mbuf *const received = p->m;
	uint32_t roles;

	if (likely(reason != DROP_STANDBY))
		return reason;
	// First: while the group is expected later than that, the number changes.
	roles = dad_roles(w->dad);
	if (!is_whole(w, p) || !(is_expected(w, p) || roles % 2 == 1) || !has_room(&w->hold, 1) ||
		buffer_chain(w, &p->m) != DROP_NONE)
		return reason;
	p->framed &= p->m == received;
	if (!has_room(&w->hold, p->m->nb_segs))
		return reason;
	hold(w, p, roles);
	return DROP_NONE;
}

enum drop hold_instead_esp(struct worker *w, struct pkt *p, enum drop reason)
{
	struct sa_in *sa = p->sa_in;

	p->sa_in = NULL; // it did not come out of that
	reason = hold_instead(w, p, reason);
	p->sa_in = sa;
	return reason;
}

static void uncount(struct worker *w, uint16_t policy, uint32_t len)
{
	struct decided *d = decided_of_policy(w, policy);

	d->asked--;
	d->packets--;
	d->octets -= len;
}

void hold_uncount(struct worker *w, const struct pkt *p)
{
	uncount(w, w->by.in, rte_pktmbuf_pkt_len(p->m));
	uncount(w, w->by.out, rte_pktmbuf_pkt_len(p->m));
}

// In the middle of a change some packets may pass already.
bool hold_is_due(const struct worker *w)
{
	uint32_t roles;

	if (w->hold.n == 0)
		return false;
	roles = dad_roles(w->dad);
	return roles != w->hold.roles || roles % 2 == 1;
}

void hold_begin(struct worker *w)
{
	w->hold.roles = dad_roles(w->dad);
	w->hold.left = w->hold.n;
}

// A port that was removed since has no link address.
static bool has_port(const struct worker *w, const struct pkt *p)
{
	return p->sa_in != NULL || !rte_is_zero_ether_addr(&pkt_link(w, p)->mac);
}

// As a packet of a pass is: in one buffer.
static enum drop prepare(struct worker *w, struct pkt *p)
{
	if (!has_port(w, p))
		return DROP_STANDBY;
	return p->m->nb_segs > 1 && !p->segments ? buffer_flatten(w, &p->m) : DROP_NONE;
}

// NULL: the packet was dropped.
static struct pkt *take(struct worker *w, struct handed *h)
{
	struct pkt *p;
	enum drop d;

	if (h->spi != 0 && handover_sa_in(w, h) == NULL) {
		handover_drop_in(w, h);
		return NULL;
	}
	p = pkt_new(w);
	*p = h->p;
	if (unlikely(w->tracing != NULL || h->trace != 0))
		trace_take(w, p, h);
	d = prepare(w, p);
	if (d == DROP_NONE)
		return p;
	pkt_drop(w, p, d);
	return NULL;
}

uint16_t hold_dequeue(struct worker *w, struct pkt *p[])
{
	struct hold *hold = &w->hold;
	uint16_t n = (uint16_t)RTE_MIN(hold->left, (uint32_t)RX_BURST_MAX), kept = 0;

	for (hold->left -= n; n > 0; n--) {
		struct handed *h = &hold->at[hold->first];

		hold->first = (hold->first + 1) % hold->max;
		hold->n--;
		hold->n_buffers -= h->p.m->nb_segs;
		p[kept] = take(w, h);
		kept = (uint16_t)(kept + (p[kept] != NULL));
	}
	return kept;
}

void hold_stop(struct worker *w)
{
	struct hold *hold = &w->hold;

	for (; hold->n > 0; hold->n--, hold->first = (hold->first + 1) % hold->max)
		pkt_drop_left(w, hold->at[hold->first].p.m);
	hold->n_buffers = hold->left = 0;
}
