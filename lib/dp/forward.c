// SPDX-License-Identifier: BSD-3-Clause
#include "forward.h"

#include "error.h"
#include "esp_out.h"
#include "fragment.h"
#include "hop.h"
#include "icmp.h"
#include "ipv4.h"
#include "pkt_drop.h"
#include "translate.h"

// The interface on whose link the packet was received. NULL: out of an SA of a policy, which is
// none.
static const struct iface *link_of(const struct worker *w, const struct pkt *p)
{
	const struct spd_policy *tunnel;

	if (p->sa_in == NULL)
		return pkt_iface(w, p);
	tunnel = spd_find_tunnel(w->snapshot->spd, p->sa_in);
	return tunnel != NULL ? &w->snapshot->iface[tunnel->iface] : NULL;
}

// A packet to an own link-local address must arrive on that link; one of the host stays on the link
// of its port.
static const struct nexthop *find_link_local(
	const struct worker *w, const struct pkt *p, const struct ip_addr *dst)
{
	const struct iface *link = link_of(w, p);

	if (pkt_iface(w, p)->is_host)
		return link->on_link;
	return link != NULL && iface_has(link, dst) ? link->own_link_local : NULL;
}

// The station with the IKE daemon may send from own addresses.
static bool is_from_ike(const struct worker *w, const struct pkt *p)
{
	const struct nexthop *via = &w->snapshot->ike_via[p->ip.v4 ? SOURCE_V4 : SOURCE_V6];

	return p->sa_in == NULL && via->iface == pkt_port(w, p) && !ip_addr_is_none(&via->gateway);
}

// A link-local address is that of the port alone.
static bool is_standby(const struct worker *w, const struct pkt *p, const struct ip_addr *addr)
{
	return unlikely(dad_is_standby(w->dad, addr)) &&
	       (!ip_addr_is_link_local(addr) || dad_is_standby_on(w->dad, pkt_port(w, p), addr));
}

bool forward_has_standby_end(const struct worker *w, const struct pkt *p)
{
	const struct ip_addr src = pkt_src(p), dst = pkt_dst(p);

	return is_standby(w, p, &dst) || is_standby(w, p, &src);
}

// back: the route to the source.
static enum drop check_source(const struct worker *w, const struct pkt *p,
	const struct ip_addr *src, const struct nexthop *back)
{
	const struct iface *link;
	bool forged;

	if (ip_addr_is_link_local(src)) {
		link = link_of(w, p);
		forged = link != NULL && iface_has(link, src);
	} else {
		forged = back != NULL &&
			 (back->kind == NEXTHOP_NOT_UNICAST ||
				 (back->kind == NEXTHOP_LOCAL && !is_from_ike(w, p)));
	}
	return forged && !pkt_iface(w, p)->is_host ? DROP_IP_SOURCE : DROP_NONE;
}

enum drop forward_check_source(const struct worker *w, const struct pkt *p)
{
	const struct ip_addr src = pkt_src(p);

	return check_source(w, p, &src, route_find(w->snapshot->routes, &src));
}

// Of a packet of a host: whether the station that it is for is on the link, or a group there.
static bool stays_on_link(const struct worker *w, const struct pkt *p, const struct ip_addr *dst)
{
	return ip_addr_is_link_local(dst) || pkt_iface(w, p)->only != NULL;
}

// Of a route with several next hops, that of the packet's flow.
static __rte_noinline const struct nexthop *find_hop(const struct worker *w, const struct pkt *p,
	const struct nexthop *several, const struct ip_addr *src, const struct ip_addr *dst,
	const struct nexthop *former)
{
	const struct ip_view v = translate_view_rules(w, p);

	return hop_find(w->snapshot, several, src, dst, hop_rest(&v), former);
}

// Sets p->nexthop by the route to the destination.
static void choose_hop(const struct worker *w, struct pkt *p, const struct nexthop *to,
	const struct ip_addr *src, const struct ip_addr *dst, const struct nexthop *former)
{
	p->nexthop = likely(to == NULL || to->kind != NEXTHOP_SEVERAL)
			     ? to
			     : find_hop(w, p, to, src, dst, former);
}

void forward_find(const struct worker *w, struct pkt *p, const struct nexthop *former)
{
	const struct ip_addr src = pkt_src(p), dst = translate_dst(w, p);

	choose_hop(w, p, route_find_from(w->snapshot->routes, &src, &dst), &src, &dst, former);
}

struct route_ends forward_ends(const struct worker *w, const struct pkt *p)
{
	const struct ip_addr src = pkt_src(p), dst = translate_dst(w, p);
	const struct route_table *routes = w->snapshot->routes;

	return (struct route_ends){route_find(routes, &src), route_find_from(routes, &src, &dst)};
}

void forward_ends_each(
	const struct worker *w, struct pkt *const p[], unsigned int n, struct route_ends ends[])
{
	const struct route_table *routes = w->snapshot->routes;
	// Before the routes without a source: one of those may replace the last one with a source.
	const bool by_source = route_table_has_sources(routes);
	const struct nexthop *found[2 * RX_BURST_MAX];
	struct ip_addr addr[2 * RX_BURST_MAX];

	if (n == 0)
		return;
	for (unsigned int i = 0; i < n; i++) {
		addr[2 * i] = pkt_src(p[i]);
		addr[2 * i + 1] = translate_dst(w, p[i]);
	}
	route_find_each(routes, addr, 2 * n, found);
	for (unsigned int i = 0; i < n; i++)
		ends[i] = (struct route_ends){found[2 * i], found[2 * i + 1]};
	if (unlikely(by_source))
		for (unsigned int i = 0; i < n; i++)
			ends[i].to = route_find_from(routes, &addr[2 * i], &addr[2 * i + 1]);
}

static_assert(2 * RX_BURST_MAX <= ROUTE_FIND_MAX, "both ends of a burst");

enum drop forward_lookup(struct worker *w, struct pkt *p)
{
	const struct route_ends ends = forward_ends(w, p);

	return forward_by(w, p, &ends, NULL);
}

enum drop forward_by(struct worker *w, struct pkt *p, const struct route_ends *ends,
	const struct nexthop *former)
{
	const struct ip_addr src = pkt_src(p), dst = translate_dst(w, p);

	if (unlikely(dad_has_standby(w->dad)) && forward_has_standby_end(w, p))
		return DROP_STANDBY;
	p->nexthop = pkt_iface(w, p)->only;
	if (p->nexthop == NULL)
		choose_hop(w, p, ends->to, &src, &dst, former);
	if (p->nexthop != NULL && p->nexthop->kind == NEXTHOP_NOT_UNICAST) {
		p->nexthop = ip_addr_is_link_local(&dst) ? find_link_local(w, p, &dst) : NULL;
		if (p->nexthop == NULL)
			return DROP_NOT_UNICAST;
	}
	// RFC 4291 2.5.6
	if (ip_addr_is_link_local(&src) && !pkt_is_local(p) &&
		!(pkt_iface(w, p)->is_host && stays_on_link(w, p, &dst)))
		return DROP_IP_SOURCE;
	return check_source(w, p, &src, ends->back);
}

enum drop forward_oversized(struct worker *w, struct pkt *p)
{
	enum drop d = forward_lookup(w, p);
	bool whole = p->ip.proto == IPPROTO_ESP ||
		     (p->ip.proto == IPPROTO_ICMPV6 && icmp_is_error(p->ip.icmp_type, false));

	return d == DROP_NONE && whole ? DROP_FRAME_SCATTERED : d;
}

enum drop forward_check_route(const struct pkt *p)
{
	switch (p->nexthop != NULL ? p->nexthop->kind : NEXTHOP_NOT_UNICAST) {
	case NEXTHOP_CONNECTED:
	case NEXTHOP_GATEWAY:
		return DROP_NONE;
	case NEXTHOP_BLACKHOLE:
		return DROP_ROUTE_BLACKHOLE;
	case NEXTHOP_UNREACHABLE:
		return DROP_ROUTE_UNREACHABLE;
	case NEXTHOP_PROHIBIT:
		return DROP_ROUTE_PROHIBIT;
	default:
		return pkt_is_for_host(p) ? DROP_NONE : DROP_NO_ROUTE;
	}
}

enum drop forward_route(struct worker *w, struct pkt *p)
{
	enum drop d = forward_check_route(p);

	if (d == DROP_NO_ROUTE)
		error_send(w, p, ERROR_NO_ROUTE, 0);
	else if (d == DROP_ROUTE_UNREACHABLE)
		error_send(w, p, ERROR_UNREACHABLE, 0);
	else if (d == DROP_ROUTE_PROHIBIT)
		error_send(w, p, ERROR_PROHIBITED, 0);
	return d;
}

static uint16_t mtu_of(const struct worker *w, const struct pkt *p)
{
	return p->sa_out != NULL ? sa_out_path_at(p->sa_out, w->sa_place)->mtu
				 : w->snapshot->iface[p->nexthop->iface].mtu;
}

uint16_t forward_mtu(const struct worker *w, const struct pkt *p)
{
	if (p->sa_out == NULL)
		return mtu_of(w, p);
	return esp_out_mtu(&p->sa_out->sa, sa_out_path(p->sa_out), p->m);
}

// Octets of the largest packet that is encapsulated whole although it must not be fragmented and
// exceeds the MTU of the path; 0: the SA has none. A tunnel's own limit holds for it as well.
static uint16_t df_limit(const struct pkt *p)
{
	const struct sa *sa = &p->sa_out->sa;
	uint16_t max = atomic_load_explicit(&sa->mtu_max, memory_order_relaxed);

	if (!sa_df_is_clear(&sa->per_packet))
		return 0;
	return max != 0 ? max : UINT16_MAX;
}

// Octets of the largest fragment that is forwarded without an ICMP error to its sender.
static uint16_t fragment_limit(const struct pkt *p, uint16_t mtu)
{
	if (p->sa_out == NULL)
		return mtu;
	if (df_limit(p) != 0)
		return df_limit(p);
	return p->ip.v4 ? mtu : (uint16_t)RTE_MAX(mtu, IPV6_MIN_MTU);
}

// Whether the packet may be fragmented again as it was received. If even those fragments exceed the
// MTU, their ESP packets are fragmented as well.
static bool may_refragment(struct worker *w, const struct pkt *p, uint16_t mtu)
{
	if (p->refrag_size == 0 || p->refrag_size > fragment_limit(p, mtu))
		return false;
	if (p->refrag_size > mtu)
		w->n_large++;
	return true;
}

// Whether a router may fragment the packet: only IPv4 without DF (RFC 791 2.3, RFC 8200 5).
static bool may_fragment(const struct pkt *p)
{
	return p->ip.v4 && (pkt_ip(p)->fragment_offset & IPV4_OFFSET_DF) == 0;
}

// A packet that must not be fragmented is, if it was received as fragments or is our own; any other
// is dropped and reported. No IPv6 source has to know of less than the smallest MTU.
static enum drop fragment_or_reject(struct worker *w, struct pkt *p)
{
	uint16_t mtu = forward_mtu(w, p);

	if (may_fragment(p))
		return fragment_enqueue(
			w, p, p->segments ? (uint16_t)RTE_MIN(mtu, p->refrag_size) : mtu);
	if (may_refragment(w, p, mtu))
		return fragment_enqueue(w, p, p->refrag_size);
	error_send(w, p, ERROR_TOO_BIG, p->ip.v4 ? mtu : (uint16_t)RTE_MAX(mtu, IPV6_MIN_MTU));
	return DROP_TOO_BIG;
}

static enum drop out_of_hops(struct worker *w, const struct pkt *p)
{
	error_send(w, p, ERROR_TTL, 0);
	return DROP_TTL;
}

enum drop forward_check_hops(struct worker *w, const struct pkt *p)
{
	return likely(forward_has_hops(p) || !forward_is_hop(p)) ? DROP_NONE : out_of_hops(w, p);
}

static enum drop lower_ttl(struct worker *w, struct pkt *p)
{
	if (p->own || p->keeps_ttl)
		return DROP_NONE;
	if (!forward_has_hops(p))
		return out_of_hops(w, p);
	if (p->ip.v4)
		ipv4_ttl_decrement(pkt_ip(p));
	else
		pkt_ip6(p)->hop_limits--;
	return DROP_NONE;
}

// Whether a packet that exceeds the MTU of its path is encapsulated whole, and its ESP packet
// fragmented: where the SA wants it, or where the packet must be neither fragmented (RFC
// 4301 8.2.1) nor rejected (RFC 2473 7.1). Transport mode is for whole packets (RFC 4303 3.3.4).
static bool fragments_after_esp(const struct worker *w, const struct pkt *p)
{
	uint16_t len = rte_pktmbuf_data_len(p->m);
	bool has_to = !p->ip.v4 && len <= IPV6_MIN_MTU;
	const struct sa_per_packet *sa;

	if (p->sa_out == NULL || p->segments)
		return false;
	sa = &p->sa_out->sa.per_packet;
	if (sa->mode == SA_TRANSPORT)
		return may_fragment(p) || has_to || p->refrag_size != 0 || len <= forward_mtu(w, p);
	if (p->refrag_size != 0)
		return false;
	return may_fragment(p) ? sa->fragment_after : len <= df_limit(p) || has_to;
}

// Makes the packet fit its MTU. A datagram that was received as fragments which must not be
// fragmented is always fragmented again: the next link may carry the datagram, but a later one not.
// *unchanged: it continues unchanged; if false, its fragments continue.
static enum drop fit_mtu(struct worker *w, struct pkt *p, bool *unchanged)
{
	*unchanged = true;
	if (rte_pktmbuf_data_len(p->m) <= mtu_of(w, p) && p->refrag_size == 0)
		return DROP_NONE;
	*unchanged = fragments_after_esp(w, p);
	if (!*unchanged)
		return fragment_or_reject(w, p);
	w->n_large++;
	return DROP_NONE;
}

// Whether the packet continues as it is.
static __rte_noinline bool forward_unusual(struct worker *w, struct pkt *p)
{
	bool unchanged = true;
	enum drop d = lower_ttl(w, p);

	if (d == DROP_NONE)
		d = fit_mtu(w, p, &unchanged);
	if (d != DROP_NONE)
		pkt_drop(w, p, d);
	return d == DROP_NONE && unchanged;
}

// The same for most packets: the TTL is above 1, the packet fits the MTU, and nothing is rare.
// False: this is another one, which is unchanged.
static __rte_always_inline bool forward_usual(const struct worker *w, const struct pkt *p)
{
	const struct rte_mbuf *m =
		p->m; // the acquire load of the path makes the compiler read p again
	const uint16_t len = rte_pktmbuf_data_len(m);
	struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod(m, struct rte_ipv4_hdr *);
	struct rte_ipv6_hdr *ip6 = (struct rte_ipv6_hdr *)ip;

	if (unlikely(p->rare != 0) || unlikely(len > mtu_of(w, p)))
		return false;
	if (likely(p->ip.v4)) {
		if (unlikely(ip->time_to_live <= 1))
			return false;
		ipv4_ttl_decrement(ip);
	} else {
		if (unlikely(ip6->hop_limits <= 1))
			return false;
		ip6->hop_limits--;
	}
	return true;
}

// The same for the packets that follow one which is fragmented or cut: they are sent after it.
static __rte_noinline void forward_rest(struct worker *w, struct pkt *p[], unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (forward_usual(w, p[i]) || forward_unusual(w, p[i]))
			fragment_enqueue(w, p[i], FRAG_WHOLE);
}

void forward_burst(struct worker *w, struct burst *b)
{
	const unsigned int n = b->n;
	unsigned int kept = 0;

	for (unsigned int i = 0; i < n; i++) {
		struct pkt *p = b->p[i];

		if (likely(forward_usual(w, p)) || forward_unusual(w, p)) {
			b->p[kept++] = p;
		} else if (w->frag_pending[FRAG_BEFORE_ESP].n > 0) {
			forward_rest(w, b->p + i + 1, n - i - 1);
			break;
		}
	}
	b->n = (uint16_t)kept;
	fragments_drain(w, FRAG_BEFORE_ESP, b);
}
