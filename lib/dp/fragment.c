// SPDX-License-Identifier: BSD-3-Clause
#include "fragment.h"

#include <rte_ip_frag.h>

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

// Writes all fragments into new buffers. False: there are no buffers.
static bool write_v4(
	struct worker *w, const struct pkt *p, const struct plan *plan, struct rte_mbuf *part[])
{
	rte_be16_t df = pkt_ip(p)->fragment_offset & IPV4_OFFSET_DF;

	pkt_ip(p)->fragment_offset &= (rte_be16_t)~IPV4_OFFSET_DF; // the library rejects it
	if (rte_ipv4_fragment_copy_nonseg_packet(
		    p->m, part, (uint16_t)plan->n, p->frag_size, w->pool) < 0)
		return false;
	for (uint32_t i = 0; i < plan->n; i++) {
		struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod(part[i], struct rte_ipv4_hdr *);

		ip->fragment_offset |= df;
		ipv4_checksum_set(ip);
	}
	return true;
}

// Writes the fragment whose payload begins at off.
static void write_fragment(
	struct rte_mbuf *m, const struct pkt *p, const struct plan *plan, uint32_t off)
{
	const uint8_t *packet = rte_pktmbuf_mtod(p->m, const uint8_t *);
	uint32_t len = RTE_MIN(plan->room, plan->len - off);
	bool more = off + len < plan->len;
	struct rte_ipv6_fragment_ext ext = {
		.next_header = packet[plan->next_off],
		.frag_data = rte_cpu_to_be_16((uint16_t)(off | more)),
		.id = p->frag_id,
	};
	uint32_t part_len = plan->head_len + (uint32_t)sizeof(ext) + len;
	uint8_t *to = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)part_len);
	uint8_t *payload = to + plan->head_len + sizeof(ext);
	const void *octets = rte_pktmbuf_read(p->m, plan->head_len + off, len, payload);

	memcpy(to, packet, plan->head_len);
	to[plan->next_off] = IPPROTO_FRAGMENT;
	((struct rte_ipv6_hdr *)to)->payload_len =
		rte_cpu_to_be_16((uint16_t)(part_len - sizeof(struct rte_ipv6_hdr)));
	memcpy(to + plan->head_len, &ext, sizeof(ext));
	if (octets != payload)
		rte_memcpy(payload, octets, len);
}

static bool write_v6(
	struct worker *w, const struct pkt *p, const struct plan *plan, struct rte_mbuf *part[])
{
	if (rte_pktmbuf_alloc_bulk(w->pool, part, plan->n) < 0)
		return false;
	for (uint32_t i = 0; i < plan->n; i++)
		write_fragment(part[i], p, plan, i * plan->room);
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
	return p->ip.v4 ? write_v4(w, p, plan, part) : write_v6(w, p, plan, part);
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
		!buffer_is_ordinary(w, RTE_MIN(p->frag_size, rte_pktmbuf_pkt_len(p->m))) ||
		!write_parts(w, p, &plan, part)) {
		pkt_drop(w, p, DROP_FRAGMENT_FAILED);
		return true;
	}
	for (uint32_t i = 0; i < plan.n; i++) {
		struct pkt *to = &w->pkt[stage * BURST_MAX + b->n];

		*to = *p;
		to->m = part[i];
		to->segments = false;
		burst_add(b, to);
	}
	w->counters.originated += plan.n - 1;
	trace_note(w, p, p->segments ? TRACE_CUT : TRACE_FRAGMENTED,
		(struct trace_fact){.mtu = p->frag_size, .pieces = plan.n});
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
