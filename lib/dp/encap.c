// SPDX-License-Identifier: BSD-3-Clause
#include "encap.h"

#include "buffer.h"
#include "esp_out.h"
#include "forward.h"
#include "fragment.h"
#include "handover.h"
#include "natt.h"
#include "output.h"
#include "pkt_drop.h"
#include "spread.h"
#include "tracepoint.h"

// Frames a packet of a run that could not be framed with the others: in another buffer, if that was
// for lack of room.
static enum drop frame_alone(struct worker *w, struct crypto_op *op, struct pkt *p, uint64_t seq)
{
	enum drop d = esp_out_frame(op, p->sa_out, p->m, seq, w->id);

	if (d != DROP_NO_ROOM)
		return d;
	d = buffer_flatten(w, &p->m);
	return d == DROP_NONE ? esp_out_frame(op, p->sa_out, p->m, seq, w->id) : d;
}

// Frames the packets of a run one by one: the first of them could not be framed. Drops packets that
// cannot be framed. Returns the number of the others, which follow each other in p and op.
static __rte_cold __rte_noinline uint16_t frame_each(
	struct worker *w, struct crypto_op op[], struct pkt *p[], uint16_t n, uint64_t seq)
{
	uint16_t kept = 0;

	for (uint16_t i = 0; i < n; i++) {
		enum drop d = frame_alone(w, &op[kept], p[i], seq + i);

		if (d == DROP_NONE)
			p[kept++] = p[i];
		else
			pkt_drop(w, p[i], d);
	}
	return kept;
}

// Drops the packets of the burst that could not be sealed.
static __rte_cold __rte_noinline void drop_unsealed(
	struct worker *w, struct burst *b, const struct crypto_op op[])
{
	uint16_t kept = 0;

	for (uint16_t i = 0; i < b->n; i++)
		if (op[i].ok)
			b->p[kept++] = b->p[i];
		else
			pkt_drop(w, b->p[i], DROP_CRYPTO_FAILED);
	b->n = kept;
}

// Numbers and frames the packets of the burst, run by run: packets of one SA get consecutive
// numbers. number has these, where another worker has allocated them. With TRACED each packet is a
// run of its own. Drops packets that cannot be framed. *summed: some are in UDP over IPv6, which
// has a checksum.
static __rte_always_inline void frame_burst(struct worker *w, struct burst *b,
	struct crypto_op op[], const uint64_t number[], bool *summed)
{
	struct rte_mbuf *m[BURST_MAX];
	struct pkt **p = b->p, **kept = b->p, **const stop = p + b->n;

	while (p < stop) {
		struct pkt **const first = p;
		struct sa_out *sa = p[0]->sa_out;
		struct sa_per_worker *own = sa_out_at(sa, w->sa_place);
		const struct sa_path *path = sa_out_path_at(sa, w->sa_place);
		const uint64_t *at = number == NULL ? NULL : &number[p - b->p];
		const uint16_t len = rte_pktmbuf_data_len(p[0]->m);
		struct rte_mbuf **to = m;

		do {
			*to++ = p[0]->m;
			p[0]->nexthop = path->nexthop;
			p++;
		} while (p < stop && p[0]->sa_out == sa && !TRACED &&
			 (number == NULL || at[p - first] - at[0] == (uint64_t)(p - first)));
		if (unlikely(path->framing != SA_FRAME_TUNNEL))
			*summed |= sa->sa.udp_port != 0 && !ip_is_v4(path->outer);

		const uint16_t run = (uint16_t)(p - first);
		uint64_t seq = number == NULL ? sa_out_seq_alloc(sa, run) : at[0];        // 3.3.3
		uint16_t framed = esp_out_fns[path->framing](op, own, path, m, run, seq); // 3.3.2

		if (unlikely(framed < run))
			framed = (uint16_t)(framed + frame_each(w, &op[framed], first + framed,
							     (uint16_t)(run - framed),
							     seq + framed));
		if (TRACED && framed > 0)
			trace_sealed(w, first[0], seq, len);
		if (unlikely(kept < first))
			memmove(kept, first, framed * sizeof(first[0]));
		kept += framed;
		op += framed;
	}
	b->n = (uint16_t)(kept - b->p);
}

// Frames and seals the packets of the burst, and gives them to ports; empties it. number as above.
static __rte_always_inline void seal_burst(
	struct worker *w, struct burst *b, const uint64_t number[])
{
	struct crypto_op op[BURST_MAX];
	bool summed = false;
	uint16_t n;

	frame_burst(w, b, op, number, &summed);
	n = b->n;
	stage_end(&w->stages, STAGE_FRAME, n);
	crypto_seal(op, n, w->id);
	stage_end(&w->stages, STAGE_SEAL, n);
	for (const struct crypto_op *at = op; at < op + n; at++)
		if (unlikely(!at->ok)) {
			drop_unsealed(w, b, op);
			break;
		}
	if (unlikely(summed))
		natt_udp_checksum(b);
	if (unlikely(w->n_large > 0))
		fragment_esp(w, b);
	n = b->n;
	do
		output_burst(w, b);
	while (fragments_drain(w, FRAG_AFTER_ESP, b));
	stage_end(&w->stages, STAGE_OUTPUT, n);
}

// Hands the packets of the burst over to the workers that number them, and empties it.
static __rte_always_inline void depart(struct worker *w, struct burst *b)
{
	struct rte_mbuf *m[BURST_MAX];

	if (TRACED)
		trace_burst(w, b, TRACE_HANDED);
	handover_fill(w, b->p, b->n);
	for (uint16_t i = 0, run; i < b->n; i = run) {
		const struct sa_out *sa = b->p[i]->sa_out;

		for (run = i; run < b->n && b->p[run]->sa_out == sa; run++)
			m[run] = b->p[run]->m;
		handover_departing(w, spread_sa(sa->sa.spi, w->n_workers, &w->hash_key), &m[i],
			(unsigned int)(run - i));
	}
	b->n = 0;
}

// Where all packets are of one SA, which the first and the last show, it is in the caches.
static __rte_always_inline void prefetch_paths(const struct worker *w, const struct burst *b)
{
	const struct sa_out *last = NULL;

	if (b->n == 0 || b->p[0]->sa_out == b->p[b->n - 1]->sa_out)
		return;
	for (struct pkt *const *p = b->p, *const *end = p + b->n; p < end; p++) {
		if (p[0]->sa_out != last)
			sa_path_prefetch(p[0]->sa_out, w->sa_place);
		last = p[0]->sa_out;
	}
}

void encap_burst(struct worker *w)
{
	struct burst *b = &w->protect;
	uint16_t arrived = b->n;

	prefetch_paths(w, b);
	forward_burst(w, b);
	stage_end(&w->stages, STAGE_FIT, arrived);
	do
		if (unlikely(w->fanout != NULL))
			depart(w, b);
		else
			seal_burst(w, b, NULL);
	while (fragments_drain(w, FRAG_BEFORE_ESP, b));
}

// Allocates the sequence numbers of the packets of a burst, in their order: in one step for a run
// of packets of one SA.
static void number_burst(struct fan_burst *b)
{
	for (uint16_t i = 0, run; i < b->n; i = run) {
		struct sa_out *sa = handed_of(b->pkt[i])->p.sa_out;
		uint64_t seq;

		for (run = i; run < b->n && handed_of(b->pkt[run])->p.sa_out == sa;)
			run++;
		seq = sa_out_seq_alloc(sa, (uint32_t)(run - i));
		for (uint16_t k = i; k < run; k++)
			b->seq[k] = seq++;
	}
}

// Takes packets to be sealed out of the ring, and drops packets whose SA is gone. *large: an ESP
// packet may have to be fragmented.
static uint16_t take_departing(struct worker *w, struct rte_mbuf *m[], bool *large)
{
	uint16_t n = handover_dequeue_departing(w, m, RX_BURST_MAX), kept = 0;

	*large = false;
	handed_prefetch(m, n);
	for (uint16_t i = 0; i < n; i++) {
		struct handed *h = handed_of(m[i]);

		if (unlikely(handover_sa_out(w, h) == NULL)) {
			handover_drop_out(w, m[i]);
			continue;
		}
		*large |= h->large;
		h->generation = w->snapshot->generation;
		m[kept++] = m[i];
	}
	return kept;
}

uint16_t encap_number(struct worker *w)
{
	struct lane *lane = &w->fanout->seal;
	uint32_t index = lane_open(lane);
	struct fan_burst *b;

	if (index == LANE_NONE || rte_ring_empty(w->departing))
		return 0;
	b = &w->fanout->sealing[index];
	b->n = take_departing(w, b->pkt, &b->large);
	if (b->n == 0)
		return 0;
	number_burst(b);
	b->n_frames = 0;
	w->n_handed += b->n;
	lane_put(lane, !b->large);
	fanout_call(w, lane);
	return b->n;
}

// Moves the packets of a burst into w->protect. Returns their number, without packets whose SA is
// gone.
static uint16_t to_protect(struct worker *w, struct fan_burst *b, uint64_t number[])
{
	w->n_handed -= b->n;
	handed_prefetch(b->pkt, b->n);
	for (uint16_t i = 0; i < b->n; i++) {
		struct handed *h = handed_of(b->pkt[i]);
		struct pkt *p;

		rte_prefetch0(rte_pktmbuf_mtod(b->pkt[i], void *));
		if (unlikely(handover_sa_out(w, h) == NULL)) {
			handover_drop_out(w, b->pkt[i]);
			continue;
		}
		p = pkt_new(w);
		handed_copy(p, b->pkt[i]);
		trace_continue(w, p, h);
		number[w->protect.n] = b->seq[i];
		burst_add(&w->protect, p);
	}
	return w->protect.n;
}

// Takes the frames out of transmit buffers, which were empty.
static void frames_take(struct worker *w, struct fan_burst *b)
{
	b->n_frames = 0;
	for (uint16_t port = 0; port < w->snapshot->n_ports; port++) {
		struct tx_buffer *tx = &w->tx[port];

		for (uint16_t i = 0; i < tx->n; i++) {
			b->port[b->n_frames] = port;
			b->frame[b->n_frames++] = tx->m[i];
		}
		tx->n = 0;
	}
	w->n_handed += b->n_frames;
}

void encap_seal(struct worker *w, struct fan_burst *b)
{
	uint64_t number[RX_BURST_MAX];

	to_protect(w, b, number);
	seal_burst(w, &w->protect, number);
	frames_take(w, b);
}

void encap_seal_large(struct worker *w, struct fan_burst *b)
{
	uint64_t number[RX_BURST_MAX];

	to_protect(w, b, number);
	w->n_large = 1;
	seal_burst(w, &w->protect, number);
}

void encap_send(struct worker *w, struct fan_burst *b)
{
	w->n_handed -= b->n_frames;
	for (uint16_t i = 0; i < b->n_frames; i++)
		output_frame(w, b->frame[i], b->port[i]);
}
