// SPDX-License-Identifier: BSD-3-Clause
#include "forward.h"

#include "error.h"
#include "esp_out.h"
#include "fragment.h"
#include "ipv4.h"
#include "pkt_drop.h"

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

enum drop forward_lookup(struct worker *w, struct pkt *p)
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

bool forward_has_route(const struct pkt *p)
{
	return p->nexthop != NULL && p->nexthop->kind <= NEXTHOP_GATEWAY;
}

enum drop forward_route(struct worker *w, struct pkt *p)
{
	if (forward_has_route(p))
		return DROP_NONE;
	error_send(w, p, ERROR_NO_ROUTE, 0);
	return DROP_NO_ROUTE;
}

static uint16_t mtu_of(const struct worker *w, const struct pkt *p)
{
	return p->sa_out != NULL ? sa_out_path(p->sa_out)->mtu
				 : w->snapshot->port[p->nexthop->port].mtu;
}

uint16_t forward_mtu(const struct worker *w, const struct pkt *p)
{
	if (p->sa_out == NULL)
		return mtu_of(w, p);
	return esp_out_mtu(&p->sa_out->sa, sa_out_path(p->sa_out), p->m);
}

// Octets of a piece that its sender must not be told to make smaller.
static uint16_t fragment_limit(const struct pkt *p, uint16_t mtu)
{
	if (p->sa_out == NULL)
		return mtu;
	if (sa_df_is_clear(&p->sa_out->sa))
		return UINT16_MAX;
	return pkt_is_v4(p) ? mtu : (uint16_t)RTE_MAX(mtu, IPV6_MIN_MTU);
}

// Whether the packet may be cut the way it was when it came; what does not fit even so is then cut
// again when it is sealed.
static bool may_refragment(struct worker *w, const struct pkt *p, uint16_t mtu)
{
	if (p->frag_max == 0 || p->frag_max > fragment_limit(p, mtu))
		return false;
	if (p->frag_max > mtu)
		w->n_large++;
	return true;
}

// With "don't fragment" nothing is cut but what came in pieces that had it.
static enum drop fragment_or_reject_v4(struct worker *w, struct pkt *p)
{
	uint16_t mtu = forward_mtu(w, p);

	if ((pkt_ip(p)->fragment_offset & IPV4_OFFSET_DF) == 0)
		return fragment_enqueue(w, p, mtu);
	if (may_refragment(w, p, mtu))
		return fragment_enqueue(w, p, p->frag_max);
	error_send(w, p, ERROR_TOO_BIG, mtu);
	return DROP_TOO_BIG;
}

// RFC 8200 5: a router cuts nothing but what came in pieces, and no sender has to know of less than
// the smallest MTU.
static enum drop fragment_or_reject_v6(struct worker *w, struct pkt *p)
{
	uint16_t mtu = forward_mtu(w, p);

	if (may_refragment(w, p, mtu))
		return fragment_enqueue(w, p, p->frag_max);
	error_send(w, p, ERROR_TOO_BIG, (uint16_t)RTE_MAX(mtu, IPV6_MIN_MTU));
	return DROP_TOO_BIG;
}

static enum drop fragment_or_reject(struct worker *w, struct pkt *p)
{
	return pkt_is_v4(p) ? fragment_or_reject_v4(w, p) : fragment_or_reject_v6(w, p);
}

static enum drop out_of_hops(struct worker *w, const struct pkt *p)
{
	error_send(w, p, ERROR_TTL, 0);
	return DROP_TTL;
}

bool forward_has_hops(const struct pkt *p)
{
	return (pkt_is_v4(p) ? pkt_ip(p)->time_to_live : pkt_ip6(p)->hop_limits) > 1;
}

enum drop forward_check_hops(struct worker *w, const struct pkt *p)
{
	return likely(forward_has_hops(p)) ? DROP_NONE : out_of_hops(w, p);
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

// Transport mode is for whole packets: what may be cut is cut when it is sealed (RFC 4303 3.3.4),
// and of IPv6 also what must not be refused.
static bool transport_fragments_after_esp(const struct worker *w, const struct pkt *p)
{
	bool may_cut = pkt_is_v4(p) ? (pkt_ip(p)->fragment_offset & IPV4_OFFSET_DF) == 0
				    : rte_pktmbuf_data_len(p->m) <= IPV6_MIN_MTU;

	return may_cut || p->frag_max != 0 || rte_pktmbuf_data_len(p->m) <= forward_mtu(w, p);
}

// Whether a packet that is too large for its tunnel is sealed whole, and its ESP packet cut: where
// the SA wants it, or where it may be neither cut (RFC 4301 8.2.1) nor refused (RFC 2473 7.1).
static bool fragments_after_esp(const struct worker *w, const struct pkt *p)
{
	const struct sa *sa;

	if (p->sa_out == NULL)
		return false;
	sa = &p->sa_out->sa;
	if (sa->opt.mode == SA_TRANSPORT)
		return transport_fragments_after_esp(w, p);
	if (p->frag_max != 0)
		return false;
	if (!pkt_is_v4(p))
		return rte_pktmbuf_data_len(p->m) <= IPV6_MIN_MTU || sa_df_is_clear(sa);
	return (pkt_ip(p)->fragment_offset & IPV4_OFFSET_DF) != 0 ? sa_df_is_clear(sa)
								  : sa->opt.fragment_after;
}

// Makes the packet fit its way. What came as fragments that nobody may cut is always cut again:
// where the next link takes the whole, one behind it may not, and nobody may cut it there.
// *unchanged: as it is; if not, fragments will take its place.
static __rte_always_inline enum drop fit_mtu(struct worker *w, struct pkt *p, bool *unchanged)
{
	*unchanged = true;
	if (likely(rte_pktmbuf_data_len(p->m) <= mtu_of(w, p) && p->frag_max == 0))
		return DROP_NONE;
	*unchanged = fragments_after_esp(w, p);
	if (!*unchanged)
		return fragment_or_reject(w, p);
	w->n_large++;
	return DROP_NONE;
}

void forward_burst(struct worker *w, struct burst *b)
{
	uint16_t kept = 0;

	for (uint16_t i = 0; i < b->n; i++) {
		struct pkt *p = b->p[i];
		bool unchanged = true;
		enum drop d = lower_ttl(w, p);

		if (likely(d == DROP_NONE))
			d = fit_mtu(w, p, &unchanged);
		if (unlikely(d != DROP_NONE))
			pkt_drop(w, p, d);
		else if (likely(unchanged))
			b->p[kept++] = p;
	}
	b->n = kept;
	fragments_drain(w, FRAG_BEFORE_ESP, b);
}
