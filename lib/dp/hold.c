// SPDX-License-Identifier: BSD-3-Clause
#include "hold.h"

#include "bits.h"
#include "buffer.h"
#include "decided_run.h"
#include "handover.h"
#include "keyed_hash.h"
#include "pkt_drop.h"
#include "tracepoint.h"

#define SHARE 8 // of all packet buffers

// Whether the packet is for or of a group that is expected: by its ends, as received or translated,
// or by its SA. In the middle of a change of roles these may differ.
static bool is_expected(const struct worker *w, const struct pkt *p)
{
	const struct ip_addr src = pkt_src(p), dst = pkt_dst(p);

	return dad_is_expected(w->dad, &dst) || dad_is_expected(w->dad, &src) ||
	       (worker_translates(w) && dad_is_expected(w->dad, &w->translating->src)) ||
	       (p->sa_out != NULL && dad_is_expected(w->dad, &p->sa_out->sa.opt.local));
}

// Whether neither ends nor SA of a packet that was refused are standby any more: the change is
// complete since. esp: the SA, of an ESP packet. If it seems so again after the packet was held,
// the packet is standby for another reason, as where a route leads into a tunnel without an SA.
static bool is_refused_no_more(const struct worker *w, const struct pkt *p, const struct sa_in *esp)
{
	const struct ip_addr src = pkt_src(p), dst = pkt_dst(p);

	if (p->released)
		return false;
	if (esp != NULL)
		return sa_stop_reason(&esp->sa) != DROP_STANDBY;
	return !dad_is_standby(w->dad, &dst) && !dad_is_standby(w->dad, &src) &&
	       !(worker_translates(w) && dad_is_standby(w->dad, &w->translating->src)) &&
	       (p->sa_out != NULL ? sa_stop_reason(&p->sa_out->sa) != DROP_STANDBY
				  : !pkt_goes_into_tunnel(p));
}

// Whether the packet can be evaluated again as it is: it comes from a link or out of a tunnel.
static bool is_whole(const struct worker *w, const struct pkt *p)
{
	return !p->own && !pkt_iface(w, p)->is_host && !pkt_is_oversized(p) &&
	       (p->m->ol_flags & BUFFER_FOREIGN) == 0;
}

// Whether it was received in clear from an unprotected port, by anybody. is_esp: ESP was not.
static bool is_from_outside(const struct worker *w, const struct pkt *p, bool is_esp)
{
	return !is_esp && p->sa_in == NULL && pkt_iface(w, p)->unprotected;
}

static bool has_room(const struct hold *hold, uint16_t n_buffers, bool outside)
{
	return hold->n_buffers + n_buffers <= hold->max &&
	       (!outside || hold->n_outside + n_buffers <= hold->max / 2);
}

// The bit of its source and destination.
static uint32_t ends_of(const struct worker *w, const struct pkt *p)
{
	const struct ip_addr src = pkt_src(p), dst = pkt_dst(p);
	const uint64_t word[] = {src.q[0], src.q[1], dst.q[0], dst.q[1]};

	return keyed_hash(&w->hash_key, word, 4) % HOLD_ENDS;
}

// Of the packet only the fields that it was received with.
static void hold(struct worker *w, struct pkt *p, uint32_t roles, bool outside)
{
	struct hold *hold = &w->hold;
	const uint32_t ends = ends_of(w, p);
	struct handed *h = handed_of(p->m);

	h->p = (struct pkt){.sa_in = p->sa_in,
		.iface = p->iface,
		.refrag_size = p->refrag_size,
		.frag_id = p->frag_id,
		.framed = p->framed,
		.segments = p->segments};
	h->generation = w->snapshot->generation;
	h->spi = p->sa_in != NULL ? p->sa_in->sa.spi : 0;
	hold->at[(hold->first + hold->n) % hold->max] = p->m;
	trace_note(w, p, TRACE_EXPECTED, (struct trace_fact){0});
	trace_hand(w, h, p);
	if (hold->n == 0)
		hold->roles = roles;
	hold->n++;
	hold->n_buffers += p->m->nb_segs;
	hold->n_outside += outside ? p->m->nb_segs : 0;
	bits_set(hold->ends, ends);
	w->next_tick = 0;
}

// False: there is no room.
static bool hold_in_one(struct worker *w, struct pkt *p, uint32_t roles, bool outside)
{
	struct rte_mbuf *const received = p->m;

	if (!has_room(&w->hold, 1, outside) || buffer_chain(w, &p->m) != DROP_NONE)
		return false;
	p->framed &= p->m == received;
	if (!has_room(&w->hold, p->m->nb_segs, outside))
		return false;
	hold(w, p, roles, outside);
	return true;
}

// esp: the SA, of an ESP packet.
static enum drop hold_refused(struct worker *w, struct pkt *p, const struct sa_in *esp)
{
	// First: while the group is expected later than that, the number changes.
	const uint32_t roles = dad_roles(w->dad);
	bool again = false; // at once

	if (!is_whole(w, p))
		return DROP_STANDBY;
	if (!is_expected(w, p) && roles % 2 == 0) {
		again = is_refused_no_more(w, p, esp);
		if (!again)
			return DROP_STANDBY;
	}
	if (!hold_in_one(w, p, roles, is_from_outside(w, p, esp != NULL)))
		return DROP_STANDBY;
	if (again)
		w->hold.roles = roles - 1;
	return DROP_NONE;
}

enum drop hold_instead(struct worker *w, struct pkt *p, enum drop reason)
{
	return likely(reason != DROP_STANDBY) ? reason : hold_refused(w, p, NULL);
}

enum drop hold_instead_esp(struct worker *w, struct pkt *p, enum drop reason)
{
	struct sa_in *sa = p->sa_in;

	if (reason != DROP_STANDBY)
		return reason;
	p->sa_in = NULL; // it did not come out of that
	reason = hold_refused(w, p, sa);
	p->sa_in = sa;
	return reason;
}

// Whether a packet has to wait for held ones with its ends, or others with the same hash. Of ESP
// packets only those of an SA do: it would move the window past them.
static bool follows(const struct worker *w, const struct pkt *p, const rte_be32_t *spi)
{
	const uint32_t ends = ends_of(w, p);

	return bits_have(w->hold.ends, ends) && is_whole(w, p) &&
	       (spi == NULL || snapshot_find_in(w->snapshot, *spi) != NULL);
}

void hold_followers(struct worker *w, struct burst *b, rte_be32_t spi[])
{
	uint16_t kept = 0;

	for (uint16_t i = 0; i < b->n; i++) {
		struct pkt *p = b->p[i];

		if (follows(w, p, spi != NULL ? &spi[i] : NULL)) {
			if (hold_in_one(w, p, w->hold.roles, is_from_outside(w, p, spi != NULL)))
				continue;
			if (spi != NULL) {
				pkt_drop(w, p, DROP_STANDBY);
				continue;
			}
		}
		if (spi != NULL)
			spi[kept] = spi[i];
		b->p[kept++] = p;
	}
	b->n = kept;
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
static bool may_pass(const struct hold *hold, uint32_t roles)
{
	return roles != hold->roles || roles % 2 == 1;
}

bool hold_may_pass(const struct worker *w)
{
	return w->hold.n > 0 && may_pass(&w->hold, dad_roles(w->dad));
}

bool hold_is_due(struct worker *w, uint64_t now)
{
	struct hold *hold = &w->hold;
	uint32_t roles;

	hold->changing = false;
	if (hold->n == 0)
		return false;
	roles = dad_roles(w->dad);
	hold->changing = roles % 2 == 1;
	// Without room, later packets could not wait.
	return may_pass(hold, roles) &&
	       (roles != hold->roles || now >= hold->next || !has_room(hold, RX_BURST_MAX, false));
}

// All held packets are evaluated again: packets that are held again are noted again.
static void forget(struct hold *hold)
{
	hold->n_outside = 0;
	memset(hold->ends, 0, sizeof(hold->ends));
}

void hold_begin(struct worker *w, uint64_t now)
{
	w->hold.roles = dad_roles(w->dad);
	w->hold.left = w->hold.n;
	w->hold.next = now + w->tsc_hz / 1000;
	forget(&w->hold);
}

void hold_pause(struct worker *w)
{
	w->hold.left = 0;
	w->hold.roles--;
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
static struct pkt *take(struct worker *w, struct rte_mbuf *m)
{
	const struct handed *h = handed_of(m);
	struct pkt *p;
	enum drop d;

	if (h->spi != 0 && handover_sa_in(w, h) == NULL) {
		handover_drop_in(w, m);
		return NULL;
	}
	p = pkt_new(w);
	handed_copy(p, m);
	p->released = true;
	if (unlikely(w->tracing != NULL || h->trace != 0))
		trace_take(w, p, h);
	d = prepare(w, p);
	if (d == DROP_NONE)
		return p;
	pkt_drop(w, p, d);
	return NULL;
}

uint32_t hold_max_of(uint32_t packet_buffers, unsigned int n_workers)
{
	return RTE_MIN(packet_buffers / SHARE, (uint32_t)WORKER_HANDED_MAX / 2) / n_workers;
}

uint16_t hold_dequeue(struct worker *w, struct pkt *p[])
{
	struct hold *hold = &w->hold;
	uint16_t n = (uint16_t)RTE_MIN(hold->left, (uint32_t)RX_BURST_MAX), kept = 0;

	for (hold->left -= n; n > 0; n--) {
		struct rte_mbuf *m = hold->at[hold->first];

		hold->first = (hold->first + 1) % hold->max;
		hold->n--;
		hold->n_buffers -= m->nb_segs;
		p[kept] = take(w, m);
		kept = (uint16_t)(kept + (p[kept] != NULL));
	}
	return kept;
}

void hold_stop(struct worker *w)
{
	struct hold *hold = &w->hold;

	for (; hold->n > 0; hold->n--, hold->first = (hold->first + 1) % hold->max)
		pkt_drop_left(w, hold->at[hold->first]);
	hold->n_buffers = hold->left = 0;
	forget(hold);
}
