// SPDX-License-Identifier: BSD-3-Clause
#include "decap.h"

#include <rte_esp.h>

#include "early.h"
#include "esp_in.h"
#include "forward.h"
#include "handover.h"
#include "hold.h"
#include "local.h"
#include "natt.h"
#include "pkt_drop.h"
#include "sort.h"
#include "spread.h"
#include "tracepoint.h"

// Whether the packet has the destination of the SA, and is in UDP (RFC 3948) or not as the SA is.
static bool is_addressed_to(const struct worker *w, const struct sa_in *sa, const struct pkt *p)
{
	if (p->ip.v4)
		return sa_in_at(sa, w->sa_place)->per_packet.v4_end ==
		       sa_v4_end(pkt_ip(p)->dst_addr, p->udp_port);

	struct ip_addr dst = ipv6_dst(pkt_ip6(p));

	return sa->sa.udp_port == p->udp_port && ip_addr_equal(&sa->sa.opt.local, &dst);
}

// An ESP packet without an SA: unless it is for the gateway, it is forwarded as any other.
static enum drop without_sa(struct worker *w, struct pkt *p)
{
	const bool unknown = p->sa_in == NULL;
	const struct ip_addr dst = pkt_dst(p);
	enum drop d;

	if (!unknown && ip_addr_equal(&p->sa_in->sa.opt.local, &dst))
		return DROP_UDP_ENCAP;
	p->sa_in = NULL;
	d = forward_lookup(w, p);
	if (d != DROP_NONE)
		return d;
	if (natt_is_keepalive(w, p)) { // RFC 3948 2.3
		w->counters.keepalives_in++;
		return pkt_consume(w, p);
	}
	if (pkt_is_local(p))
		return !pkt_has_esp(p) ? DROP_FRAME_SHORT : unknown ? early_hold(w, p) : DROP_NO_SA;
	burst_add(&w->transit, p);
	return DROP_NONE;
}

// Finds SAs by SPI (RFC 4303 3.4.2), once for a run, and prefetches their fields in two steps.
static __rte_always_inline void find_sas(struct worker *w, struct burst *b)
{
	const struct sad *sad = w->snapshot->objects->sad_in;
	const struct sa_in *last = NULL;
	struct sa_in *found = NULL;
	rte_be32_t spi = 0; // invalid SPI
	const unsigned int arrived = b->n;
	uint16_t n = 0;

	for (unsigned int i = 0; i < arrived; i++) {
		if (w->spi[i] != spi) {
			spi = w->spi[i];
			found = sad_find(sad, spi);
			if (likely(found != NULL))
				__builtin_prefetch(sa_in_at(found, w->sa_place), 1);
		}
		b->p[i]->sa_in = found;
	}
	for (unsigned int i = 0; i < arrived; i++) {
		struct pkt *p = b->p[i];
		struct sa_in *sa = p->sa_in;

		if (likely(sa != NULL && is_addressed_to(w, sa, p))) {
			b->p[n++] = p;
			if (sa == last)
				continue;
			last = sa;
			sa_in_prefetch(sa, w->sa_place, rte_be_to_cpu_32(pkt_esp(p)->seq));
			continue;
		}

		enum drop d = without_sa(w, p);

		if (d != DROP_NONE)
			pkt_drop(w, p, d);
	}
	b->n = n;
}

// Whether to check the ICV of a packet whose number is not accepted: of one of each SA in a second,
// and of a worker in a millisecond. Above the end of the window forged ones delay no authentic one.
static bool sample_is_due(struct worker *w, uint64_t *sa_next, bool above)
{
	if (w->now < w->replay_sample_next || (!above && w->now < *sa_next))
		return false;
	*sa_next = w->now + w->tsc_hz;
	w->replay_sample_next = w->now + w->tsc_hz / 1000;
	return true;
}

// The reason to drop a packet whose number the window does not accept, or must not: it is above its
// end. With a wrong key every packet of a peer that was restarted is one, and looks like a replay.
// So the ICV of a sample is checked: the reason distinguishes a forged packet from a repeated one.
// An authentic one above the end shows the control thread where the peer is. The window stays.
static __rte_cold __rte_noinline enum drop replay_reason(
	struct worker *w, struct sa_in *sa, struct crypto_op *op)
{
	const struct sa_per_packet *p = &sa->sa.per_packet;
	struct sa_per_worker *own = &sa->sa.per_worker[w->id];
	bool above = false;

	if (p->esn) {
		const rte_be32_t lower = ((const struct rte_esp_hdr *)op->esp)->seq;

		op->seq = replay_guess_seq(&p->replay, rte_be_to_cpu_32(lower));
		above = op->seq > replay_end(&p->replay);
	}
	if (sample_is_due(w, &own->replay_sample_next, above)) {
		crypto_open(op, 1, w->id);
		if (!op->ok)
			return DROP_REPLAY_FORGED;
		if (above)
			own->above_end = RTE_MAX(own->above_end, op->seq);
	}
	return above ? DROP_SEQUENCE_UNSAVED : DROP_REPLAY;
}

// Fragments of an ESP packet are no property of its inner packet. In transport mode they were
// fragments of that packet (RFC 4303 3.3.4), which only its source may fragment otherwise.
static __rte_always_inline void fragment_size_reset(struct pkt *p)
{
	if (unlikely(p->refrag_size != 0) && (p->sa_in->sa.per_packet.mode == SA_TUNNEL ||
						     rte_pktmbuf_data_len(p->m) <= p->refrag_size))
		p->refrag_size = 0;
}

// Operations on the packets of w->esp, in the same order, and their sequence numbers. A run of them
// is of one SA.
struct opening {
	struct crypto_op op[RX_BURST_MAX];
	uint64_t seq[RX_BURST_MAX];
	uint16_t end[RX_BURST_MAX]; // of each run: the index after it
};

// RFC 4303 3.4.2 to 3.4.4: SA, sequence number verification, integrity check and decryption. w->esp
// then has the packets of the returned number of runs, authenticated or not; its n is 0. receives:
// this worker has received them, and may hold some.
static __rte_always_inline uint16_t open_burst(
	struct worker *w, struct opening *o, const bool receives)
{
	struct burst *b = &w->esp;
	const uint16_t arrived = b->n;
	uint16_t n = 0, n_runs = 0;

	find_sas(w, b);
	if (TRACED)
		trace_burst(w, b, TRACE_SA_FOUND);
	for (struct pkt **at = b->p, **const stop = at + b->n; at < stop;) {
		struct sa_in *sa = at[0]->sa_in;
		const struct esp_in_checks run =
			esp_in_checks_of(&sa_in_at(sa, w->sa_place)->per_packet);
		const uint16_t first = n;

		do {
			struct pkt *p = *at++;
			enum drop d = esp_in_check(&o->op[n], &run, p->m, p->esp_off);

			if (likely(d == DROP_NONE)) {
				o->seq[n] = o->op[n].seq;
				b->p[n++] = p;
				continue;
			}
			if (d == DROP_REPLAY)
				d = replay_reason(w, sa, &o->op[n]);
			else if (receives)
				d = hold_instead_esp(w, p, d);
			if (d != DROP_NONE)
				pkt_drop(w, p, d);
		} while (at < stop && at[0]->sa_in == sa);
		if (likely(n > first))
			o->end[n_runs++] = n;
	}
	b->n = 0;
	stage_end(&w->stages, STAGE_ESP_CHECK, arrived);
	crypto_open(o->op, n, w->id);
	stage_end(&w->stages, STAGE_OPEN, n);
	return n_runs;
}

// RFC 4303 3.4.3: the numbers of authenticated packets of one SA enter its replay window.
static void accept_seqs(
	const struct worker *w, struct sa_in *sa, const uint64_t seq[], bool accepted[], uint16_t n)
{
	struct sa_per_worker *own = sa_in_at(sa, w->sa_place);
	uint16_t n_late = replay_commit_burst(&own->per_packet.replay, seq, accepted, n);

	if (unlikely(n_late > 0))
		own->reordered += n_late;
}

// The same for a packet that is a run of its own: with many SAs, nearly all are.
static __rte_always_inline bool accept_one(
	const struct worker *w, struct sa_in *sa, const struct opening *o, uint16_t i)
{
	struct sa_per_worker *own = sa_in_at(sa, w->sa_place);
	bool accepted = false;

	if (likely(o->op[i].ok) &&
		unlikely(replay_commit_one(&own->per_packet.replay, o->seq[i], &accepted) != 0))
		own->reordered++;
	return accepted;
}

// The same for those of n packets of a run that are authenticated.
static __rte_always_inline void accept_run(const struct worker *w, struct sa_in *sa,
	const struct crypto_op op[], const uint64_t seq[], bool accepted[], unsigned int n)
{
	for (unsigned int i = 0, end; i < n; i = end) {
		for (end = i; end < n && op[end].ok; end++)
			;
		accept_seqs(w, sa, &seq[i], &accepted[i], (uint16_t)(end - i));
		if (unlikely(end < n))
			accepted[end++] = false;
	}
}

// The worker that the flow of a packet out of a tunnel belongs to.
static unsigned int owner_of(const struct worker *w, const struct pkt *p)
{
	return spread_inner(p->m, w->n_workers, &w->hash_key);
}

// RFC 4303 3.4.3 to 3.4.4.1, RFC 4301 5.2: the inner packets of a run, n from place first on.
static __rte_always_inline void finish_run(
	struct worker *w, const struct opening *o, uint16_t first, const uint16_t n)
{
	struct pkt *const *packet = &w->esp.p[first];
	const struct crypto_op *op = &o->op[first];
	struct sa_in *sa = packet[0]->sa_in;
	const struct esp_in_run run = esp_in_run_of(sa, sa_in_at(sa, w->sa_place));
	bool accepted[RX_BURST_MAX]; // authenticated, and its number as well
	uint32_t packets = 0;
	uint64_t octets = 0;

	if (n == 1)
		accepted[0] = accept_one(w, sa, o, first);
	else
		accept_run(w, sa, op, &o->seq[first], accepted, n);
	if (unlikely(w->n_udp > 0))
		natt_peers_check(w, packet, &o->seq[first], accepted, n);
	for (unsigned int i = 0; i < n; i++) {
		struct pkt *p = packet[i];
		bool plain;
		enum drop d;

		if (unlikely(!accepted[i])) {
			pkt_drop(w, p, op[i].ok ? DROP_REPLAY : DROP_AUTH);
			continue;
		}
		d = esp_in_finish(&op[i], &run, p->m, &p->ip, &plain);
		if (unlikely(d != DROP_NONE)) {
			pkt_drop(w, p, d);
			continue;
		}
		packets++;
		octets += rte_pktmbuf_data_len(p->m);
		fragment_size_reset(p);
		if (TRACED)
			trace_opened(w, p, o->seq[first + i]);
		if (unlikely(w->fanout != NULL) && handover_enqueue(w, p, owner_of(w, p)))
			continue;
		if (likely(plain)) { // in ESP, it is none of an SA
			burst_add(&w->transit, p);
			continue;
		}
		d = sort_packet(w, p);
		if (unlikely(d != DROP_NONE))
			pkt_drop(w, p, d);
	}
	esp_in_count(&run, packets, octets);
}

void decap_burst(struct worker *w)
{
	struct opening o;
	const uint16_t n_runs = open_burst(w, &o, true);
	uint16_t i = 0;

	// Cryptography has evicted the windows from the nearest cache, and marking waits for each.
	for (uint16_t r = 0; r + 1 < n_runs; r++)
		replay_prefetch(
			&sa_in_at(w->esp.p[o.end[r]]->sa_in, w->sa_place)->per_packet.replay,
			o.seq[o.end[r]]);
	for (uint16_t r = 0; r < n_runs; i = o.end[r++])
		if (o.end[r] - i == 1) // compiled for itself, without a loop
			finish_run(w, &o, i, 1);
		else
			finish_run(w, &o, i, (uint16_t)(o.end[r] - i));
	stage_end(&w->stages, STAGE_ESP_FINISH, i);
}

// Puts the authenticated packets of w->esp into b: those for one worker next to each other, those
// to be dropped last.
static void group(struct worker *w, struct fan_burst *b, const struct opening *o,
	const uint8_t reason[], uint16_t n)
{
	uint8_t owner[RX_BURST_MAX];
	struct pkt *p[RX_BURST_MAX];

	b->n = 0;
	for (uint16_t i = 0; i < n; i++) {
		if (reason[i] == DROP_AUTH)
			continue;
		p[b->n] = w->esp.p[i];
		b->seq[b->n] = o->seq[i];
		b->reason[b->n] = reason[i];
		owner[b->n++] = reason[i] == DROP_NONE ? (uint8_t)owner_of(w, w->esp.p[i])
						       : (uint8_t)w->n_workers;
	}
	fanout_group(b->at, b->first, owner, b->n, w->n_workers + 1);
	handover_fill(w, p, b->n);
	for (uint16_t i = 0; i < b->n; i++)
		b->pkt[b->at[i]] = p[i]->m;
}

// The newest of an SA counts: of those with the same number the first, which alone is accepted.
static void note_moved(struct fan_burst *b, const struct pkt *p, uint64_t seq)
{
	unsigned int i = 0;
	struct event e;

	if (!natt_peer_moved(p, &e))
		return;
	while (i < b->n_moved && b->moved[i].sa != p->sa_in)
		i++;
	if (i == FAN_MOVED_MAX || (i < b->n_moved && seq <= b->moved[i].seq))
		return;
	if (i == b->n_moved)
		b->n_moved++;
	b->moved[i] = (struct fan_moved){.m = p->m, .sa = p->sa_in, .seq = seq, .event = e};
}

// Inner packets of a run, from place i to end, whose numbers another worker accepts.
static __rte_always_inline void extract_run(struct worker *w, struct fan_burst *b,
	const struct opening *o, uint8_t reason[], uint16_t i, uint16_t end)
{
	const struct sa_in *sa = w->esp.p[i]->sa_in;
	const struct esp_in_run run = esp_in_run_of(sa, sa_in_at(sa, w->sa_place));
	uint32_t packets = 0;
	uint64_t octets = 0;

	for (; i < end; i++) {
		struct pkt *p = w->esp.p[i];
		bool plain;

		reason[i] = DROP_AUTH;
		if (unlikely(!o->op[i].ok)) {
			pkt_drop(w, p, DROP_AUTH);
			continue;
		}
		if (unlikely(p->udp_port != 0))
			note_moved(b, p, o->seq[i]);
		reason[i] = (uint8_t)esp_in_finish(&o->op[i], &run, p->m, &p->ip, &plain);
		if (likely(reason[i] == DROP_NONE)) {
			packets++;
			octets += rte_pktmbuf_data_len(p->m);
			fragment_size_reset(p);
		}
		if (TRACED && reason[i] == DROP_NONE)
			trace_opened(w, p, o->seq[i]);
		if (TRACED)
			trace_record(w, p, TRACE_HANDED, &(struct trace_fact){0});
	}
	esp_in_count(&run, packets, octets);
}

void decap_open(struct worker *w, struct fan_burst *b)
{
	struct opening o;
	uint8_t reason[RX_BURST_MAX];
	const uint16_t n_runs = open_burst(w, &o, false);
	uint16_t i = 0;

	b->n_moved = 0;
	for (uint16_t r = 0; r < n_runs; i = o.end[r++])
		extract_run(w, b, &o, reason, i, o.end[r]);
	group(w, b, &o, reason, i);
	w->n_handed += b->n;
	stage_end(&w->stages, STAGE_ESP_FINISH, i);
}

// A packet that was opened is dropped. If it was counted, that is taken back; then it is the inner
// packet, and the audit log reports that.
static __rte_cold __rte_noinline void drop_opened(
	struct worker *w, struct rte_mbuf **m, enum drop reason, enum drop before)
{
	struct sa_per_worker *own;
	struct pkt p;

	handed_copy(&p, *m);
	if (before == DROP_NONE) {
		own = &p.sa_in->sa.per_worker[w->id];
		own->packets--;
		own->bytes -= rte_pktmbuf_data_len(*m);
		ip_layout_read(&p.ip, pkt_ip(&p));
		p.udp_port = 0;
	}
	trace_continue(w, &p, handed_of(*m));
	pkt_drop(w, &p, reason);
	*m = NULL;
}

static enum drop stop_of(const struct worker *w, const struct sa_in *sa)
{
	return (enum drop)atomic_load_explicit(
		&sa_in_at(sa, w->sa_place)->per_packet.stop, memory_order_relaxed);
}

// Why numbers of an SA were not accepted.
static __rte_cold enum drop refusal(const struct worker *w, const struct sa_in *sa)
{
	enum drop stop = stop_of(w, sa);

	return stop != DROP_NONE ? stop : DROP_REPLAY;
}

// Drops the packets whose SA is gone. Returns how many are left, in the order of arrival; sa:
// theirs.
static uint16_t arrived(struct worker *w, struct fan_burst *b, struct sa_in *sa[])
{
	uint16_t n = 0;

	handed_prefetch(b->pkt, b->n);
	for (uint16_t i = 0; i < b->n; i++) {
		const uint8_t at = b->at[i];
		struct handed *h = handed_of(b->pkt[at]);

		sa[n] = handover_sa_in(w, h);
		if (unlikely(sa[n] == NULL)) {
			handover_drop_in(w, b->pkt[at]);
			b->pkt[at] = NULL;
			continue;
		}
		h->generation = w->snapshot->generation;
		b->at[n] = at;
		b->reason[n] = b->reason[i];
		b->seq[n++] = b->seq[i];
	}
	return n;
}

// Hands over those for one worker that are still there.
static void deal(struct worker *w, unsigned int to, struct rte_mbuf *m[], uint16_t n)
{
	uint16_t kept = 0;

	for (uint16_t i = 0; i < n; i++)
		if (likely(m[i] != NULL))
			m[kept++] = m[i];
	if (kept > 0)
		handover_inner(w, to, m, kept);
}

void decap_accept(struct worker *w, struct fan_burst *b)
{
	struct sa_in *sa[RX_BURST_MAX];
	bool accepted[RX_BURST_MAX];
	uint16_t n;

	w->n_handed -= b->n;
	n = arrived(w, b, sa);
	for (uint16_t i = 0, end; i < n; i = end) {
		for (end = i; end < n && sa[end] == sa[i]; end++)
			;
		// It may have been stopped since they were opened: the numbers accepted are
		// reported.
		if (likely(stop_of(w, sa[i]) == DROP_NONE))
			accept_seqs(w, sa[i], &b->seq[i], &accepted[i], (uint16_t)(end - i));
		else
			memset(&accepted[i], false, end - i);
	}
	for (uint16_t i = 0; i < n; i++) {
		struct rte_mbuf **m = &b->pkt[b->at[i]];

		for (unsigned int k = 0; unlikely(k < b->n_moved); k++)
			if (accepted[i] && b->moved[k].m == *m)
				natt_peer_post(w, sa[i], b->seq[i], &b->moved[k].event);
		if (unlikely(!accepted[i]))
			drop_opened(w, m, refusal(w, sa[i]), b->reason[i]);
		else if (unlikely(b->reason[i] != DROP_NONE))
			drop_opened(w, m, b->reason[i], b->reason[i]);
	}
	for (unsigned int to = 0; to < w->n_workers; to++)
		deal(w, to, &b->pkt[b->first[to]], (uint16_t)(b->first[to + 1] - b->first[to]));
}
