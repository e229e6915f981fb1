// SPDX-License-Identifier: BSD-3-Clause
#include "forward.h"

#include <rte_ip_frag.h>

#include "ipv4.h"
#include "local.h"

// What is said to one of our link-local addresses has to come by its link.
static const struct nexthop *find_link_local(
	const struct worker *w, const struct pkt *p, const struct ip_addr *dst)
{
	const struct snapshot_port *port = &w->snapshot->port[p->port];

	for (unsigned int i = 0; p->sa_in == NULL && i < port->n_addrs; i++)
		if (ip_addr_equal(&port->addrs[i], dst))
			return &port->own_link_local;
	return NULL;
}

enum drop forward_find(struct worker *w, struct pkt *p)
{
	const struct ip_addr src = pkt_src(p), dst = pkt_dst(p);

	p->nexthop = route_find(w->snapshot->routes, &dst);
	if (p->nexthop != NULL && p->nexthop->kind == NEXTHOP_NOT_UNICAST) {
		p->nexthop = ip_addr_is_link_local(&dst) ? find_link_local(w, p, &dst) : NULL;
		if (p->nexthop == NULL)
			return DROP_NOT_UNICAST;
	}
	// RFC 4291 2.5.6
	return ip_addr_is_link_local(&src) && !pkt_is_local(p) ? DROP_IP_SOURCE : DROP_NONE;
}

enum drop forward_route(struct worker *w, struct pkt *p)
{
	if (p->nexthop != NULL && p->nexthop->kind <= NEXTHOP_GATEWAY)
		return DROP_NONE;
	local_error(w, p, LOCAL_NO_ROUTE, 0);
	return DROP_NO_ROUTE;
}

static uint16_t mtu_of(const struct worker *w, const struct pkt *p)
{
	return p->sa_out != NULL ? sa_out_path(p->sa_out)->mtu
				 : w->snapshot->port[p->nexthop->port].mtu;
}

// RFC 791 3.2: cuts the packet into fragments, which go to w->parts.
static enum drop fragment(struct worker *w, struct pkt *p, uint16_t mtu)
{
	struct rte_mbuf *part[BURST_MAX];
	uint16_t room = (uint16_t)(BURST_MAX - w->parts.n);
	int32_t n = rte_ipv4_fragment_copy_nonseg_packet(p->m, part, room, mtu, w->pool);

	if (n < 0)
		return DROP_FRAGMENT_FAILED;
	for (int32_t i = 0; i < n; i++) {
		struct pkt *f = pkt_new(w);

		*f = *p;
		f->m = part[i];
		ipv4_checksum_set(pkt_ip(f));
		burst_add(&w->parts, f);
	}
	w->counters.originated += (uint32_t)n - 1;
	worker_release(w, p->m);
	return DROP_NONE;
}

// RFC 8200 4.5: cuts a packet again that came in as fragments, as if they had gone through. Only
// the IPv6 header is in front of what is cut.
static enum drop fragment_v6(struct worker *w, struct pkt *p, uint16_t mtu)
{
	const struct rte_ipv6_hdr *ip = pkt_ip6(p);
	uint32_t head_len = sizeof(*ip) + sizeof(struct rte_ipv6_fragment_ext);
	uint32_t len = rte_pktmbuf_data_len(p->m) - (uint32_t)sizeof(*ip);
	uint32_t size = RTE_MIN(mtu, p->frag_max);
	uint32_t room = size < head_len ? 0 : RTE_ALIGN_FLOOR(size - head_len, 8);
	uint32_t n = room == 0 ? 0 : (len + room - 1) / room;
	struct rte_mbuf *part[BURST_MAX];

	if (n == 0 || n > (uint32_t)BURST_MAX - w->parts.n ||
		rte_pktmbuf_alloc_bulk(w->pool, part, n) < 0)
		return DROP_FRAGMENT_FAILED;
	for (uint32_t i = 0; i < n; i++) {
		struct pkt *f = pkt_new(w);
		uint32_t off = i * room, part_len = RTE_MIN(room, len - off);
		struct rte_ipv6_hdr *to = (struct rte_ipv6_hdr *)rte_pktmbuf_append(
			part[i], (uint16_t)(head_len + part_len));
		struct rte_ipv6_fragment_ext *ext = (struct rte_ipv6_fragment_ext *)(to + 1);

		*to = *ip;
		to->proto = IPPROTO_FRAGMENT;
		to->payload_len = rte_cpu_to_be_16((uint16_t)(sizeof(*ext) + part_len));
		*ext = (struct rte_ipv6_fragment_ext){
			.next_header = ip->proto,
			.frag_data = rte_cpu_to_be_16((uint16_t)(off | (uint32_t)(i + 1 < n))),
			.id = p->frag_id,
		};
		rte_memcpy(ext + 1, (const uint8_t *)(ip + 1) + off, part_len);
		*f = *p;
		f->m = part[i];
		burst_add(&w->parts, f);
	}
	w->counters.originated += n - 1;
	worker_release(w, p->m);
	return DROP_NONE;
}

static enum drop shrink_v4(struct worker *w, struct pkt *p)
{
	uint16_t mtu = mtu_of(w, p);

	if ((pkt_ip(p)->fragment_offset & IPV4_OFFSET_DF) == 0)
		return fragment(w, p, mtu);
	local_error(w, p, LOCAL_TOO_BIG, mtu);
	return DROP_TOO_BIG;
}

// RFC 8200 5: a router cuts nothing, and no sender has to know of less than the smallest MTU.
static enum drop shrink_v6(struct worker *w, struct pkt *p)
{
	uint16_t mtu = mtu_of(w, p);

	if (p->frag_max != 0 && p->frag_max <= mtu)
		return fragment_v6(w, p, mtu);
	local_error(w, p, LOCAL_TOO_BIG, (uint16_t)RTE_MAX(mtu, IPV6_MIN_MTU));
	return DROP_TOO_BIG;
}

static enum drop shrink(struct worker *w, struct pkt *p)
{
	return pkt_is_v4(p) ? shrink_v4(w, p) : shrink_v6(w, p);
}

static enum drop out_of_hops(struct worker *w, const struct pkt *p)
{
	local_error(w, p, LOCAL_TTL, 0);
	return DROP_TTL;
}

static enum drop lower_hop_limit(struct worker *w, struct pkt *p)
{
	if (pkt_ip6(p)->hop_limits <= 1)
		return out_of_hops(w, p);
	pkt_ip6(p)->hop_limits--;
	return DROP_NONE;
}

static enum drop lower_ttl(struct worker *w, struct pkt *p)
{
	if (unlikely(p->own))
		return DROP_NONE;
	if (!pkt_is_v4(p))
		return lower_hop_limit(w, p);
	if (unlikely(pkt_ip(p)->time_to_live <= 1))
		return out_of_hops(w, p);
	ipv4_ttl_decrement(pkt_ip(p));
	return DROP_NONE;
}

void forward_burst(struct worker *w, struct burst *b)
{
	uint16_t kept = 0;

	for (uint16_t i = 0; i < b->n; i++) {
		struct pkt *p = b->p[i];
		enum drop d = lower_ttl(w, p);

		if (unlikely(d == DROP_NONE && rte_pktmbuf_data_len(p->m) > mtu_of(w, p)))
			d = shrink(w, p);
		else if (likely(d == DROP_NONE && reassembly_leave_large_buffer(w, p)))
			b->p[kept++] = p;
		else if (d == DROP_NONE)
			d = DROP_NO_BUFFER;
		if (unlikely(d != DROP_NONE))
			pkt_drop(w, p, d);
	}
	b->n = kept;
	for (uint16_t i = 0; i < w->parts.n; i++) {
		if (b->n < BURST_MAX)
			burst_add(b, w->parts.p[i]);
		else
			pkt_drop(w, w->parts.p[i], DROP_FRAGMENT_FAILED);
	}
	w->parts.n = 0;
}
