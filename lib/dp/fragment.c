// SPDX-License-Identifier: BSD-3-Clause
#include "fragment.h"

#include <rte_ip_frag.h>

#include "ipv4.h"
#include "trace.h"

static struct pkt *part_add(struct worker *w, const struct pkt *p, struct rte_mbuf *m)
{
	struct pkt *part = pkt_new(w);

	*part = *p;
	part->m = m;
	burst_add(&w->parts, part);
	return part;
}

static void cut_note(struct worker *w, const struct pkt *p, uint16_t size, uint32_t pieces)
{
	trace_note(w, p, TRACE_FRAGMENTED, (struct trace_fact){.mtu = size, .pieces = pieces});
}

enum drop fragment_v4(struct worker *w, struct pkt *p, uint16_t size)
{
	struct rte_mbuf *part[BURST_MAX];
	uint16_t room = (uint16_t)(BURST_MAX - w->parts.n);
	int32_t n;

	// Kept where the fragments that came had it.
	rte_be16_t df = p->frag_max != 0 ? pkt_ip(p)->fragment_offset & IPV4_OFFSET_DF : 0;

	pkt_ip(p)->fragment_offset &= (rte_be16_t)~IPV4_OFFSET_DF;
	n = rte_ipv4_fragment_copy_nonseg_packet(p->m, part, room, size, w->pool);
	if (n < 0)
		return DROP_FRAGMENT_FAILED;
	for (int32_t i = 0; i < n; i++) {
		struct rte_ipv4_hdr *ip = pkt_ip(part_add(w, p, part[i]));

		ip->fragment_offset |= df;
		ipv4_checksum_set(ip);
	}
	w->counters.originated += (uint32_t)n - 1;
	cut_note(w, p, size, (uint32_t)n);
	worker_release(w, p->m);
	return DROP_NONE;
}

// Writes one fragment: head_len octets of headers that every fragment needs, whose next one is
// named at next_off, and len octets from off of what is behind them.
static void write_part(struct rte_mbuf *m, const struct pkt *p, uint16_t head_len,
	uint16_t next_off, uint32_t off, uint32_t len, bool more)
{
	const uint8_t *packet = rte_pktmbuf_mtod(p->m, const uint8_t *);
	struct rte_ipv6_fragment_ext ext = {
		.next_header = packet[next_off],
		.frag_data = rte_cpu_to_be_16((uint16_t)(off | more)),
		.id = p->frag_id,
	};
	uint32_t part_len = head_len + (uint32_t)sizeof(ext) + len;
	uint8_t *to = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)part_len);

	memcpy(to, packet, head_len);
	to[next_off] = IPPROTO_FRAGMENT;
	((struct rte_ipv6_hdr *)to)->payload_len =
		rte_cpu_to_be_16((uint16_t)(part_len - sizeof(struct rte_ipv6_hdr)));
	memcpy(to + head_len, &ext, sizeof(ext));
	rte_memcpy(to + head_len + sizeof(ext), packet + head_len + off, len);
}

enum drop fragment_v6(struct worker *w, struct pkt *p, uint16_t size)
{
	struct rte_mbuf *part[BURST_MAX];
	struct ipv6_upper upper;
	uint16_t head_len, next_off;

	ipv6_upper_find(&upper, pkt_ip6(p), rte_pktmbuf_data_len(p->m));
	ipv6_esp_place(&head_len, &next_off, pkt_ip6(p), &upper);

	uint32_t overhead = head_len + (uint32_t)sizeof(struct rte_ipv6_fragment_ext);
	uint32_t len = rte_pktmbuf_data_len(p->m) - (uint32_t)head_len;
	uint32_t room = size < overhead ? 0 : RTE_ALIGN_FLOOR(size - overhead, 8);
	uint32_t n = room == 0 ? 0 : (len + room - 1) / room;

	if (n == 0 || n > (uint32_t)BURST_MAX - w->parts.n ||
		rte_pktmbuf_alloc_bulk(w->pool, part, n) < 0)
		return DROP_FRAGMENT_FAILED;
	for (uint32_t i = 0; i < n; i++) {
		write_part(part[i], p, head_len, next_off, i * room, RTE_MIN(room, len - i * room),
			i + 1 < n);
		part_add(w, p, part[i]);
	}
	w->counters.originated += n - 1;
	cut_note(w, p, size, n);
	worker_release(w, p->m);
	return DROP_NONE;
}

void fragments_join(struct worker *w, struct burst *b)
{
	for (uint16_t i = 0; i < w->parts.n; i++) {
		if (b->n < BURST_MAX)
			burst_add(b, w->parts.p[i]);
		else
			pkt_drop(w, w->parts.p[i], DROP_FRAGMENT_FAILED);
	}
	w->parts.n = 0;
}

// RFC 7739 5.2
rte_be32_t fragment_id(struct worker *w)
{
	const uint32_t share = UINT32_MAX / SA_WORKERS_MAX;

	w->fragment_id = (w->fragment_id + 1) % share;
	return rte_cpu_to_be_32(w->id * share + w->fragment_id);
}

static enum drop cut(struct worker *w, struct pkt *p, uint16_t size)
{
	p->frag_max = 0; // of what it carries
	if (pkt_is_v4(p))
		return fragment_v4(w, p, size);
	p->frag_id = fragment_id(w);
	return fragment_v6(w, p, size);
}

void fragment_sealed(struct worker *w, struct burst *b)
{
	uint16_t kept = 0;

	for (uint16_t i = 0; i < b->n; i++) {
		struct pkt *p = b->p[i];
		uint16_t size = sa_out_path(p->sa_out)->link_mtu;

		if (rte_pktmbuf_data_len(p->m) <= size && p->m->pool == w->pool) {
			b->p[kept++] = p;
			continue;
		}

		enum drop d = cut(w, p, size);

		if (d != DROP_NONE)
			pkt_drop(w, p, d);
	}
	b->n = kept;
	w->n_large = 0;
	fragments_join(w, b);
}
