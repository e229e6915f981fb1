// SPDX-License-Identifier: BSD-3-Clause
#include "fragment.h"

#include "buffer.h"
#include "ipv4.h"
#include "pkt_drop.h"
#include "tcp_segment.h"
#include "tracepoint.h"

// How a packet is fragmented or cut: head_len octets of headers in each part, and at most room
// octets of payload.
struct plan {
	uint16_t head_len;
	uint16_t next_off; // of IPv6: the field in these headers that names the next one
	uint32_t len;      // octets of payload in all
	uint32_t room;
	uint32_t n; // fragments
};

static struct plan plan_of(const struct pkt *p)
{
	struct plan plan = {0};
	uint32_t overhead = 0;

	if (p->segments) {
		plan.head_len = tcp_segment_headers(pkt_ip(p), &p->ip);
	} else if (p->ip.v4) {
		plan.head_len = p->ip.l4_off;
	} else {
		ipv6_esp_place(&plan.head_len, &plan.next_off, pkt_ip6(p), p->ip.l4_off);
		overhead = sizeof(struct rte_ipv6_fragment_ext);
	}
	overhead += plan.head_len;
	plan.len = rte_pktmbuf_pkt_len(p->m) - (uint32_t)plan.head_len;
	plan.room = p->frag_size < overhead ? 0 : p->frag_size - overhead;
	if (!p->segments)
		plan.room = RTE_ALIGN_FLOOR(plan.room, 8);
	plan.n = plan.room == 0 ? UINT32_MAX : (plan.len + plan.room - 1) / plan.room;
	return plan;
}

// Whether the first fragment stays in the buffer of the packet, so that its payload is not copied.
// One of IPv6 needs room for its fragment header, in front of the next frame's.
static bool may_stay(const struct worker *w, const struct pkt *p)
{
	const uint32_t room = sizeof(struct rte_ipv6_fragment_ext) + sizeof(struct rte_ether_hdr);

	return !buffer_is_large(w, p->m) && (p->ip.v4 || rte_pktmbuf_headroom(p->m) >= room);
}

// Writes the header of the fragment whose payload is len octets from off on: that of the packet, or
// the copied one at to, but for the fields in which fragments differ.
static __rte_always_inline void header_write_v4(struct rte_ipv4_hdr *to,
	const struct rte_ipv4_hdr *from, const struct plan *plan, uint32_t off, uint32_t len)
{
	const uint32_t more = off + len < plan->len ? RTE_IPV4_HDR_MF_FLAG : 0;
	const rte_be16_t place = rte_cpu_to_be_16((uint16_t)(off / 8 | more));
	const uint16_t total = (uint16_t)(rte_ipv4_hdr_len(from) + len);

	ipv4_header_write(to, ipv4_front(from, total, place), from);
}

// The same of IPv6, and its fragment header, for which there is room after the other headers.
static void fields_set_v6(
	uint8_t *to, const struct pkt *p, const struct plan *plan, uint32_t off, uint32_t len)
{
	const uint32_t head_len = plan->head_len + (uint32_t)sizeof(struct rte_ipv6_fragment_ext);
	const struct rte_ipv6_fragment_ext ext = {
		.next_header = to[plan->next_off],
		.frag_data = rte_cpu_to_be_16((uint16_t)(off | (off + len < plan->len))),
		.id = p->frag_id,
	};

	to[plan->next_off] = IPPROTO_FRAGMENT;
	((struct rte_ipv6_hdr *)to)->payload_len =
		rte_cpu_to_be_16((uint16_t)(head_len + len - sizeof(struct rte_ipv6_hdr)));
	memcpy(to + plan->head_len, &ext, sizeof(ext));
}

// Writes the headers of a later fragment. Returns the octets in front of its payload.
static __rte_always_inline uint32_t headers_write(
	uint8_t *to, const struct pkt *p, const struct plan *plan, uint32_t off, uint32_t len)
{
	const struct rte_ipv4_hdr *from = pkt_ip(p);
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)to;
	uint32_t head_len = sizeof(*ip);

	if (likely(p->ip.v4)) {
		if (unlikely(plan->head_len > sizeof(*ip))) {
			head_len = ipv4_header_copy_later(ip, from);
			from = ip;
		}
		header_write_v4(ip, from, plan, off, len);
		return head_len;
	}
	memcpy(to, from, plan->head_len);
	fields_set_v6(to, p, plan, off, len);
	return plan->head_len + (uint32_t)sizeof(struct rte_ipv6_fragment_ext);
}

// Writes the fragment whose payload begins at off, into an empty buffer.
static __rte_always_inline void write_fragment(
	struct rte_mbuf *m, const struct pkt *p, const struct plan *plan, uint32_t off)
{
	uint8_t *to = rte_pktmbuf_mtod(m, uint8_t *);
	const uint32_t len = RTE_MIN(plan->room, plan->len - off);
	const uint32_t head_len = headers_write(to, p, plan, off, len);
	const void *octets = rte_pktmbuf_read(p->m, plan->head_len + off, len, to + head_len);

	if (likely(octets != to + head_len))
		rte_memcpy(to + head_len, octets, len);
	m->data_len = (uint16_t)(head_len + len);
	m->pkt_len = head_len + len;
}

// Cuts the packet down to its first fragment. That may be all of it: a datagram that was received
// in fragments is sent as fragments even if it fits into one packet.
static void first_cut(const struct pkt *p, const struct plan *plan)
{
	const uint32_t payload = RTE_MIN(plan->room, plan->len);
	uint32_t len = plan->head_len + payload;
	uint8_t *to;

	if (likely(p->ip.v4)) {
		header_write_v4(pkt_ip(p), pkt_ip(p), plan, 0, payload);
	} else {
		len += (uint32_t)sizeof(struct rte_ipv6_fragment_ext);
		to = (uint8_t *)rte_pktmbuf_prepend(p->m, sizeof(struct rte_ipv6_fragment_ext));
		memmove(to, to + sizeof(struct rte_ipv6_fragment_ext), plan->head_len);
		fields_set_v6(to, p, plan, 0, payload);
	}
	p->m->data_len = (uint16_t)len;
	p->m->pkt_len = len;
}

// Writes all fragments: the first one last, for the others are copied from the packet. False: there
// are no buffers.
static bool write_fragments(
	struct worker *w, const struct pkt *p, const struct plan *plan, struct rte_mbuf *part[])
{
	const uint32_t stay = may_stay(w, p) ? 1 : 0;

	part[0] = p->m;
	for (uint32_t i = stay; i < plan->n; i++) {
		part[i] = rte_pktmbuf_alloc(w->pool);
		if (unlikely(part[i] == NULL)) {
			rte_pktmbuf_free_bulk(part + stay, i - stay);
			return false;
		}
		write_fragment(part[i], p, plan, i * plan->room);
	}
	if (likely(stay > 0))
		first_cut(p, plan);
	return true;
}

// Copies the next len octets of a packet, from off in the buffer *m on, and moves both on. Returns
// their sum: to read the copy would wait for the stores to it.
static uint32_t copy_next(uint8_t *to, struct rte_mbuf **m, uint32_t *off, uint32_t len)
{
	uint32_t sum = 0;
	bool odd = false;

	while (len > 0) {
		const uint8_t *from = rte_pktmbuf_mtod_offset(*m, const uint8_t *, *off);
		uint32_t n = RTE_MIN(len, rte_pktmbuf_data_len(*m) - *off);
		uint16_t part = rte_raw_cksum(from, n);

		rte_memcpy(to, from, n);
		sum += odd ? rte_bswap16(part) : part;
		odd ^= n % 2 != 0;
		to += n;
		len -= n;
		*off += n;
		if (len > 0) {
			*m = (*m)->next;
			*off = 0;
		}
	}
	return sum;
}

static bool write_segments(
	struct worker *w, const struct pkt *p, const struct plan *plan, struct rte_mbuf *part[])
{
	const uint32_t sum = tcp_segment_sum(pkt_ip(p), &p->ip, plan->head_len);
	struct rte_mbuf *from = p->m;
	uint32_t off = plan->head_len;

	if (rte_pktmbuf_alloc_bulk(w->pool, part, plan->n) < 0)
		return false;
	for (uint32_t i = 0; i < plan->n; i++) {
		uint32_t done = i * plan->room, len = RTE_MIN(plan->room, plan->len - done);
		struct tcp_part at = {.len = plan->head_len + len,
			.off = done,
			.number = i,
			.last = i == plan->n - 1};
		uint8_t *to = (uint8_t *)rte_pktmbuf_append(part[i], (uint16_t)at.len);

		memcpy(to, pkt_ip(p), plan->head_len);
		at.sum = sum + copy_next(to + plan->head_len, &from, &off, len);
		tcp_segment_finish(to, &p->ip, &at);
	}
	return true;
}

// Whether an ESP packet can be sent as it is.
static bool may_send_whole(const struct worker *w, const struct pkt *p)
{
	return rte_pktmbuf_data_len(p->m) <= p->frag_size && p->m->pool == w->pool;
}

static bool write_parts(
	struct worker *w, const struct pkt *p, const struct plan *plan, struct rte_mbuf *part[])
{
	if (p->segments)
		return write_segments(w, p, plan, part);
	return write_fragments(w, p, plan, part);
}

static __rte_cold __rte_noinline void parts_trace(struct worker *w, const struct pkt *p, uint32_t n)
{
	trace_note(w, p, p->segments ? TRACE_CUT : TRACE_FRAGMENTED,
		(struct trace_fact){.mtu = p->frag_size, .pieces = n});
}

// Adds the fragments of a packet to the burst. False: it has no room for them now.
static bool fragments_of_add(
	struct worker *w, const struct pkt *p, enum frag_stage stage, struct burst *b)
{
	const struct plan plan = plan_of(p);
	struct rte_mbuf *part[BURST_MAX];

	if (plan.n <= BURST_MAX && plan.n > (uint32_t)BURST_MAX - b->n)
		return false;
	if (plan.n > BURST_MAX ||
		!buffer_is_ordinary(w, RTE_MIN(p->frag_size, rte_pktmbuf_pkt_len(p->m)))) {
		pkt_drop(w, p, DROP_FRAGMENT_FAILED);
		return true;
	}
	if (unlikely(w->tracing != NULL)) // while it is whole
		parts_trace(w, p, plan.n);
	if (!write_parts(w, p, &plan, part)) {
		pkt_drop(w, p, DROP_FRAGMENT_FAILED);
		return true;
	}
	for (uint32_t i = 0; i < plan.n; i++) {
		struct pkt *to = &w->pkt[stage * BURST_MAX + b->n];

		*to = *p;
		to->m = part[i];
		to->segments = false;
		to->framed = false;
		burst_add(b, to);
	}
	w->counters.originated += plan.n - 1;
	if (part[0] != p->m)
		worker_release(w, p->m);
	return true;
}

static bool pending_add(struct worker *w, struct pkt *p, enum frag_stage stage, struct burst *b)
{
	bool whole = stage == FRAG_BEFORE_ESP ? p->frag_size == FRAG_WHOLE : may_send_whole(w, p);

	if (!whole)
		return fragments_of_add(w, p, stage, b);
	if (b->n == BURST_MAX)
		return false;
	burst_add(b, p);
	return true;
}

void fragments_add(struct worker *w, enum frag_stage stage, struct burst *b)
{
	struct burst *frag_pending = &w->frag_pending[stage];
	uint16_t done = 0;

	while (done < frag_pending->n && pending_add(w, frag_pending->p[done], stage, b))
		done++;
	frag_pending->n = (uint16_t)(frag_pending->n - done);
	memmove(frag_pending->p, frag_pending->p + done,
		frag_pending->n * sizeof(frag_pending->p[0]));
}

enum drop fragment_enqueue(struct worker *w, struct pkt *p, uint16_t size)
{
	p->frag_size = size;
	burst_add(&w->frag_pending[FRAG_BEFORE_ESP], p);
	return DROP_NONE;
}

// RFC 7739 5.2
rte_be32_t fragment_id(struct worker *w)
{
	const uint32_t share = UINT32_MAX / SA_WORKERS_MAX;

	w->fragment_id = (w->fragment_id + 1) % share;
	return rte_cpu_to_be_32(w->id * share + w->fragment_id);
}

// The gateway is the source of an ESP packet: its header is new.
static void allow_fragments(struct worker *w, struct pkt *p)
{
	ip_layout_read(&p->ip, pkt_ip(p));
	if (p->ip.v4)
		pkt_ip(p)->fragment_offset = 0;
	else
		p->frag_id = fragment_id(w);
}

void fragment_esp(struct worker *w, struct burst *b)
{
	for (uint16_t i = 0; i < b->n; i++) {
		struct pkt *p = b->p[i];

		p->frag_size = sa_out_path(p->sa_out)->link_mtu;
		if (!may_send_whole(w, p))
			allow_fragments(w, p);
		burst_add(&w->frag_pending[FRAG_AFTER_ESP], p);
	}
	b->n = 0;
	fragments_drain(w, FRAG_AFTER_ESP, b);
}
