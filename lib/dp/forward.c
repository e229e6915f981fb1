// SPDX-License-Identifier: BSD-3-Clause
#include "forward.h"

#include <rte_ip_frag.h>

#include "ipv4.h"
#include "local.h"

enum drop forward_find(struct worker *w, struct pkt *p)
{
	p->nexthop = route_find_v4(w->snapshot->routes, pkt_ip(p)->dst_addr);
	if (p->nexthop != NULL && p->nexthop->kind == NEXTHOP_NOT_UNICAST)
		return DROP_NOT_UNICAST;
	return DROP_NONE;
}

enum drop forward_route(struct worker *w, struct pkt *p)
{
	if (p->nexthop != NULL && p->nexthop->kind <= NEXTHOP_GATEWAY)
		return DROP_NONE;
	local_error(w, p, (struct icmp_error){ICMP_UNREACHABLE, ICMP_UNREACH_NET, 0});
	return DROP_NO_ROUTE;
}

static uint16_t mtu_of(const struct worker *w, const struct pkt *p)
{
	return p->sa_out != NULL ? p->sa_out->mtu : w->snapshot->port[p->nexthop->port].mtu;
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

static enum drop shrink(struct worker *w, struct pkt *p)
{
	uint16_t mtu = mtu_of(w, p);

	if ((pkt_ip(p)->fragment_offset & IPV4_OFFSET_DF) == 0)
		return fragment(w, p, mtu);
	local_error(w, p, (struct icmp_error){ICMP_UNREACHABLE, ICMP_UNREACH_NEEDFRAG, mtu});
	return DROP_TOO_BIG;
}

static enum drop lower_ttl(struct worker *w, struct pkt *p)
{
	if (unlikely(p->own))
		return DROP_NONE;
	if (unlikely(pkt_ip(p)->time_to_live <= 1)) {
		local_error(w, p, (struct icmp_error){ICMP_TIME_EXCEEDED, 0, 0});
		return DROP_TTL;
	}
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
