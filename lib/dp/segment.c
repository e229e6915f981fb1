// SPDX-License-Identifier: BSD-3-Clause
#include "segment.h"

#include <rte_udp.h>

#include "buffer.h"
#include "fragment.h"
#include "l4_checksum.h"
#include "tcp_segment.h"

// Octets in the first of several buffers: as many as an ICMP error quotes.
#define FRONT_MIN IPV6_MIN_MTU

// Whether the payload would become more parts of this size than a frame may.
static bool has_too_many_parts(uint32_t payload, uint32_t size)
{
	return size == 0 || (payload - 1) / size >= BURST_MAX;
}

static enum drop tcp_input(struct pkt *p)
{
	const uint32_t len = rte_pktmbuf_pkt_len(p->m), size = p->m->tso_segsz;
	const uint32_t headers = tcp_segment_headers(pkt_ip(p), &p->ip);

	if (headers == 0 || has_too_many_parts(len - headers, size))
		return DROP_SEGMENT_MALFORMED;
	p->refrag_size = (uint16_t)RTE_MIN(headers + size, len);
	p->segments = true;
	return DROP_NONE;
}

// Into one buffer. The Ethernet header is no longer in front of it.
static enum drop flatten(struct worker *w, struct pkt *p)
{
	if (buffer_is_ours(p->m))
		return DROP_NONE;
	p->framed = false;
	return buffer_flatten(w, &p->m);
}

// The datagram becomes one that was received in fragments.
static enum drop udp_input(struct worker *w, struct pkt *p)
{
	const uint32_t size = p->m->tso_segsz;
	uint32_t headers = p->ip.l4_off;
	const struct rte_udp_hdr *udp;
	enum drop d = flatten(w, p);

	if (d != DROP_NONE)
		return d;
	udp = rte_pktmbuf_mtod_offset(p->m, const struct rte_udp_hdr *, headers);
	if (!ip_layout_has(&p->ip, pkt_ip(p), IPPROTO_UDP, sizeof(*udp)) ||
		has_too_many_parts(
			rte_pktmbuf_data_len(p->m) - headers, RTE_ALIGN_FLOOR(size, 8)) ||
		rte_be_to_cpu_16(udp->dgram_len) != rte_pktmbuf_data_len(p->m) - headers)
		return DROP_SEGMENT_MALFORMED;
	l4_checksum_recompute(pkt_ip(p));
	if (!p->ip.v4) {
		headers += (uint32_t)sizeof(struct rte_ipv6_fragment_ext);
		p->frag_id = fragment_id(w);
	}
	if (headers + size < rte_pktmbuf_data_len(p->m))
		p->refrag_size = (uint16_t)(headers + size);
	return DROP_NONE;
}

enum drop segment_input(struct worker *w, struct pkt *p)
{
	const struct rte_mbuf *m = p->m;

	if (rte_pktmbuf_pkt_len(m) != ip_len(pkt_ip(p), ip_is_v4(pkt_ip(p))) ||
		(m->nb_segs > 1 && rte_pktmbuf_data_len(m) < FRONT_MIN))
		return DROP_SEGMENT_MALFORMED;
	if (!ip_layout_read(&p->ip, pkt_ip(p)))
		return DROP_EXT_HEADERS;
	return p->ip.proto == IPPROTO_UDP ? udp_input(w, p) : tcp_input(p);
}

enum drop segment_keep(struct worker *w, struct pkt *p)
{
	enum drop d = flatten(w, p);

	if (d != DROP_NONE)
		return d;
	l4_checksum_recompute(pkt_ip(p));
	p->segments = false;
	p->refrag_size = 0;
	return DROP_NONE;
}
