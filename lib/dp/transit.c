// SPDX-License-Identifier: BSD-3-Clause
#include "transit.h"

#include <rte_tcp.h>

#include "carry.h"
#include "decide.h"
#include "decided_run.h"
#include "egress.h"
#include "error.h"
#include "firewall.h"
#include "flow_lookup.h"
#include "flow_record.h"
#include "flow_track.h"
#include "forward.h"
#include "hold.h"
#include "hop_group.h"
#include "host.h"
#include "ip_view.h"
#include "ipv4.h"
#include "mss.h"
#include "natt.h"
#include "pkt_drop.h"
#include "pmtu.h"
#include "policy.h"
#include "tracepoint.h"
#include "transit_slow.h"
#include "transit_translated.h"
#include "translate.h"

// Forwards or punts a packet in clear. rule: the number of the rule that has admitted the flow.
static __rte_always_inline void transit_forward(struct worker *w, struct pkt *p,
	const struct flow_pkt *fp, const struct flow *f, uint32_t rule)
{
	if (unlikely(!iface_is_port(p->nexthop->iface)))
		host_punt_flow(w, p, fp, f, rule);
	else
		burst_add(&w->forward, p);
}

static void transit_enqueue(
	struct worker *w, struct pkt *p, const struct flow_pkt *fp, const struct flow *f)
{
	if (f != NULL && unlikely((flow_word(f) & FLOW_TRANSLATED) != 0))
		translate_packet(w, p, fp, f);
	if (unlikely((fp->tcp_flags & RTE_TCP_SYN_FLAG) != 0))
		mss_clamp(w, p);
	if (p->sa_out == NULL) {
		transit_forward(w, p, fp, f, w->by.rule);
		return;
	}
	sa_out_prefetch(p->sa_out, w->sa_place);
	burst_add(&w->protect, p);
}

// Looks a flow up by its whole key, after another one with its hash was found. NULL: there is none.
static __rte_noinline struct flow_dir *find_again(const struct worker *w, struct flow_pkt *fp)
{
	struct flow *f = flow_find(w->flows, fp);

	return f != NULL ? &f->dir[fp->dir] : NULL;
}

// Whether the flow has a cached decision for the packet. *own: the direction found by
// the hash; replaced by that of the packet's own flow, or NULL. Any router on the path may have
// sent an ICMP error: its own source has to be checked.
static __rte_always_inline bool has_decision(const struct worker *w, uint32_t generation,
	const struct pkt *p, struct flow_pkt *fp, struct flow_dir **own, struct flow_decision *d,
	const bool plain, const bool v4)
{
	if (likely(*own != NULL) && unlikely(!flow_is_of_packet(*own, fp, v4)))
		*own = find_again(w, fp);
	if (unlikely(*own == NULL))
		return false;
	if (!plain && (fp->icmp_error || flow_reopens(flow_of_dir(*own), fp)))
		return false;
	return flow_dir_decision_get(*own, generation, d) && d->ingress == ingress_of(w, p);
}

// The same, compiled for plain packets of each family and for others.
static __rte_always_inline bool has_decision_usual(const struct worker *w, uint32_t generation,
	const struct pkt *p, struct flow_pkt *fp, struct flow_dir **own, struct flow_decision *d)
{
	if (likely(fp->plain))
		return has_decision(w, generation, p, fp, own, d, true, true);
	if (likely(fp->plain_v6))
		return has_decision(w, generation, p, fp, own, d, true, false);
	return has_decision(w, generation, p, fp, own, d, false, fp->v4);
}

// A packet that is not like most of its flow, or of a flow that is not like most: it changes the
// state, does not fit, or is translated.
static __rte_noinline enum drop transit_tracked(struct worker *w, struct pkt *p,
	struct flow_pkt *fp, struct flow_dir *own, const struct flow_decision *decision)
{
	const union flow_deciders by = decision->by;
	struct decided_run run[2];
	struct flow *f = flow_of_packet(own, fp);
	enum drop d = DROP_NONE;

	run[0] = (struct decided_run){.packets = 0};
	if ((decision->shown & FLOW_SETTLED_TRANSLATED) == 0 ||
		!flow_track_settled(own, fp, w->now_ms))
		d = flow_track_unusual(w->flows, w->id, f, fp, w->now_ms);
	w->by = by;
	if (likely(d == DROP_NONE)) {
		decided_run_add(decided_run_begin(decided_of_policy(w, 0), run, by, p), fp->ip_len);
		decided_run_count(w, &run[1]);
	} else if ((flow_word(f) & FLOW_TRANSLATED) == 0) {
		d = decide_invalid(w, p, fp, d);
	}
	if (d == DROP_NONE)
		transit_enqueue(w, p, fp, f);
	else
		flow_count_drop(w->flows, f, fp->dir);
	return d;
}

// A packet with a cached decision. *run: that of the last packet, and then of this one; none: the
// counters of policy 0. STALE: the decision does not fit any more, the packet has to take the slow
// path.
static __rte_always_inline enum drop transit_fast_path(struct worker *w, struct pkt *p,
	struct flow_pkt *fp, struct flow_dir *own, const struct flow_decision *d,
	struct decided *none, struct decided_run **run, uint32_t now)
{
	struct decided_run *r = *run;
	uint64_t octets;

	if (unlikely(r->by.all != d->by.all))
		*run = r = decided_run_begin(none, r, d->by, p);
	if (unlikely(r->to.of != d->egress) &&
		unlikely(!egress_find(w, d->egress, r->by.out, &r->to)))
		return STALE;
	egress_set(p, &r->to);
	p->in_by = r->in_by;
	if (TRACED)
		trace_flow(w, p, flow_of_dir(own), r->by);
	octets = fp->ip_len;
	if (unlikely(!flow_track_ordinary(own, fp, d->shown, now))) {
		const struct flow_decision decision = *d; // without this copy, *d is in memory

		return transit_tracked(w, p, fp, own, &decision);
	}
	decided_run_add(r, octets);
	if (likely(r->to.next != NULL))
		burst_add(r->to.next, p);
	else
		host_punt_flow(w, p, fp, flow_of_dir(own), r->by.rule);
	return DROP_NONE;
}

enum drop transit_slow_begin(struct worker *w, struct pkt *p, struct flow_pkt *fp,
	const struct route_ends *ends, const struct flow *f, bool *through)
{
	enum drop d;

	*through = false;
	if (unlikely(pkt_iface(w, p)->follows_host) && f == NULL && host_client_is_answer(w, p))
		return host_client_input(w, p);
	d = forward_by(w, p, ends, f != NULL ? egress_former(w, f, fp->dir) : NULL);
	if (d == DROP_NOT_UNICAST && p->sa_in != NULL)
		return host_input_inside(w, p);
	if (d != DROP_NONE)
		return hold_instead(w, p, d);
	if (unlikely(pkt_iface(w, p)->only != NULL))
		host_route_answer(w, p, fp, f);
	if (pkt_is_local(p) && !natt_is_ike(w, p, fp)) {
		d = host_admit(w, p, fp, f);
		*through = d == DROP_NONE && pkt_is_for_host(p);
		if (d == DROP_NONE && !*through)
			burst_add(&w->local, p);
		return d;
	}
	if (fp->icmp_error && pmtu_quotes_sa(w, p))
		return pmtu_input(w, p);
	// Policy decides whether an ICMP error is sent; while the rate permits none, the packet is
	// dropped without a lookup.
	if (unlikely(!forward_has_hops(p)) && forward_is_hop(p) && error_is_suppressed(w, p))
		return DROP_TTL;
	*through = true;
	return DROP_NONE;
}

// A packet for which there is a decision by now: an earlier one of its burst has caused it, or its
// route is in another slot. f: its flow. STALE: there is none.
static __rte_noinline enum drop transit_decided(
	struct worker *w, struct pkt *p, struct flow_pkt *fp, struct flow *f)
{
	struct flow_dir *own = &f->dir[fp->dir];
	struct decided *none = decided_of_policy(w, 0);
	struct decided_run run[2], *last = run;
	struct flow_decision decision;
	enum drop d;

	if (!has_decision(w, w->snapshot->flow_generation, p, fp, &own, &decision, false, fp->v4))
		return STALE;
	run[0] = (struct decided_run){.packets = 0};
	d = transit_fast_path(w, p, fp, own, &decision, none, &last, w->now_ms);
	if (d == STALE && egress_find_again(w, p, flow_of_packet(own, fp), fp->dir, &decision))
		d = transit_fast_path(w, p, fp, own, &decision, none, &last, w->now_ms);
	if (d != STALE && last != run)
		decided_run_count(w, last);
	return d;
}

enum drop transit_slow_path(struct worker *w, struct pkt *p, struct flow_pkt *fp,
	struct flow **flow, const struct policies *found)
{
	struct flow *f = *flow;
	enum drop d;

	if (f != NULL && unlikely(!translate_fits(w, fp, f)))
		return STALE;
	d = f != NULL ? transit_decided(w, p, fp, f) : STALE;
	if (d != STALE)
		return d;
	trace_note(w, p, TRACE_FLOW_NONE, (struct trace_fact){0});
	w->by.all = 0;
	d = f != NULL ? decide_known_flow(w, p, fp, found, f)
		      : decide_new_flow(w, p, fp, found, flow);
	if (d == DROP_NONE) {
		transit_enqueue(w, p, fp, *flow);
		return d;
	}
	if (d == DROP_STANDBY && hold_instead(w, p, d) == DROP_NONE) {
		hold_uncount(w, p);
		return DROP_NONE;
	}
	if (f != NULL && !fp->icmp_error)
		flow_count_drop(w->flows, f, fp->dir);
	return d;
}

// The packets whose flows have a decision of the generation before that holds in this one leave the
// slow path. Returns how many are left.
static uint16_t transit_carried(
	struct worker *w, struct flow *const flows[], uint8_t place[], uint16_t n)
{
	uint16_t kept = 0;

	for (uint16_t i = 0; i < n; i++) {
		struct pkt *p = w->transit.p[place[i]];
		struct flow_pkt *fp = &w->flow_pkt[place[i]];
		struct flow *f = flows[place[i]];
		enum drop d = STALE;

		if (f != NULL && carry_decision(w, p, f, fp))
			d = transit_decided(w, p, fp, f);
		if (d == STALE)
			place[kept++] = place[i];
		else if (d != DROP_NONE)
			pkt_drop(w, p, d);
	}
	return kept;
}

// Hashes of packets of a burst that were without a flow: another one with the hash may find the
// flow that one of them has made. Few others seem to be among them.
struct hashes {
	uint64_t bits[4];
};

// Adds one. Returns whether it has been there.
static inline bool hashes_add(struct hashes *all, uint32_t hash)
{
	uint64_t *word = &all->bits[hash >> 6 & (RTE_DIM(all->bits) - 1)];
	const uint64_t old = *word, bit = UINT64_C(1) << (hash & 63);

	*word = old | bit;
	return (old & bit) != 0;
}

// Slow path of the packets of the burst at these places: their routes are looked up at once, and
// their policies. begun: of earlier ones of the burst.
static __rte_noinline void transit_slow_burst(
	struct worker *w, struct flow *flows[], uint8_t place[], uint16_t n, struct hashes *begun)
{
	const struct flow_pkt *new[RX_BURST_MAX];
	struct route_ends ends[RX_BURST_MAX];
	struct policies found[RX_BURST_MAX];
	struct pkt *p[RX_BURST_MAX];
	uint16_t kept = 0, n_new = 0;
	struct policy_search s;

	n = transit_carried(w, flows, place, n);
	for (uint16_t i = 0; i < n; i++)
		p[i] = w->transit.p[place[i]];
	forward_ends_each(w, p, n, ends);
	if (unlikely(flow_table_translates(w->flows))) {
		// Finds them again for translated destinations: most nodes are near by now.
		transit_translated(w, flows, place, n);
		return;
	}
	s.n = 0;
	for (uint16_t i = 0; i < n; i++) {
		struct flow_pkt *fp = &w->flow_pkt[place[i]];
		bool through;
		enum drop d = transit_slow_begin(w, p[i], fp, &ends[i], flows[place[i]], &through);

		if (d != DROP_NONE)
			pkt_drop(w, p[i], d);
		if (!through)
			continue;
		if (flows[place[i]] == NULL)
			new[n_new++] = fp;
		policy_search_add(w, p[i], ends[i].back, &s, &found[kept]);
		p[kept] = p[i];
		place[kept++] = place[i];
	}
	flow_insert_prefetch(w->flows, new, n_new);
	policy_search_end(w->snapshot, &s);
	for (uint16_t i = 0; i < kept; i++) {
		struct flow_pkt *fp = &w->flow_pkt[place[i]];
		struct flow **f = &flows[place[i]];
		enum drop d;

		// host_admit() may have found one, which another worker has just made.
		if (*f == NULL && (unlikely(hashes_add(begun, fp->hash)) || pkt_is_for_host(p[i])))
			*f = flow_find(w->flows, fp);
		d = transit_slow_path(w, p[i], fp, f, &found[i]);
		if (unlikely(d == STALE)) // another worker has got a configuration that translates
			transit_translated_again(w, p[i], fp, *f);
		else if (d != DROP_NONE)
			pkt_drop(w, p[i], d);
	}
}

// An ICMP message that connection tracking cannot parse may be addressed to the gateway. A
// malformed TCP or UDP header is never answered.
static __rte_noinline void transit_unparsable(struct worker *w, struct pkt *p, enum drop reason)
{
	enum drop d = forward_lookup(w, p);

	if (d == DROP_NONE && (!pkt_is_local(p) || ip_proto_has_ports(p->ip.proto)))
		d = reason;
	if (d == DROP_NONE)
		burst_add(&w->local, p);
	else
		pkt_drop(w, p, d);
}

// Reads the headers of the packets, and starts the lookups of their flows in the index. Packets
// that cannot be parsed leave the burst.
static __rte_always_inline void read_headers(
	struct worker *w, struct burst *b, struct flow_index *x, union flow_place place[])
{
	const struct flow_table *t = w->flows;
	struct flow_pkt *fp = w->flow_pkt;
	struct pkt **kept = b->p;

	for (struct pkt **at = b->p, **end = at + b->n; at < end; at++) {
		struct pkt *p = *at;
		enum drop d = flow_lookup_read(t, x, fp, pkt_ip(p), &p->ip, place);

		if (unlikely(d != DROP_NONE)) {
			transit_unparsable(w, p, d);
			continue;
		}
		*kept++ = p;
		fp++;
		place++;
	}
	b->n = (uint16_t)(kept - b->p);
}

void transit_burst(struct worker *w)
{
	const uint32_t generation = w->snapshot->flow_generation, now = w->now_ms;
	union flow_place place[RX_BURST_MAX];
	struct flow *flows[RX_BURST_MAX]; // of slow packets
	uint8_t slow[RX_BURST_MAX];
	uint16_t n_slow = 0;
	struct hashes begun = {{0}};
	struct burst *b = &w->transit;
	struct flow_pkt *fp = w->flow_pkt;
	struct decided_run runs[RX_BURST_MAX + 1], *run = runs;
	struct decided *none = decided_of_policy(w, 0);
	struct flow_index *x = flow_index(w->flows); // of the whole burst
	unsigned int n;

	*run = (struct decided_run){.packets = 0}; // no policy decided about it
	read_headers(w, b, x, place);
	n = b->n;
	flow_find_burst(w->flows, x, w->flow_pkt, place, n);
	for (unsigned int i = 0; i < n; i++, fp++) {
		struct pkt *p = b->p[i];
		struct flow_dir *own = place[i].own;
		struct flow_decision decision;

		if (unlikely(!has_decision_usual(w, generation, p, fp, &own, &decision))) {
			flows[i] = own != NULL ? flow_of_packet(own, fp) : NULL;
			slow[n_slow++] = (uint8_t)i;
			if (fp->icmp_error) { // before acknowledgements of the packet that it
					      // quotes
				transit_slow_burst(w, flows, slow, n_slow, &begun);
				n_slow = 0;
			}
			continue;
		}

		enum drop d = transit_fast_path(w, p, fp, own, &decision, none, &run, now);

		if (likely(d == DROP_NONE))
			continue;
		if (d != STALE) {
			pkt_drop(w, p, d);
			continue;
		}
		flows[i] = flow_of_packet(own, fp);
		slow[n_slow++] = (uint8_t)i;
	}
	for (const struct decided_run *r = runs + 1; r <= run; r++)
		decided_run_count(w, r);
	if (unlikely(n_slow > 0))
		transit_slow_burst(w, flows, slow, n_slow, &begun);
	b->n = 0;
}
