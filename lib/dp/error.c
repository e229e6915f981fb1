// SPDX-License-Identifier: BSD-3-Clause
#include "error.h"

#include "fragment.h"
#include "hop.h"
#include "icmp.h"
#include "ipv4.h"
#include "policy_find.h"
#include "tcp.h"
#include "translate.h"

// Errors in one pass: those about held packets leave room for replies to a whole burst.
#define ERRORS_MAX (BURST_MAX - RX_BURST_MAX)

static const struct {
	struct icmp_error v4, v6;
} words[] = {
	[ERROR_NO_ROUTE] = {{ICMP_UNREACHABLE, ICMP_UNREACH_NET, 0},
		{ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_NOROUTE, 0}},
	[ERROR_NO_HOST] = {{ICMP_UNREACHABLE, ICMP_UNREACH_HOST, 0},
		{ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_ADDR, 0}},
	[ERROR_UNREACHABLE] = {{ICMP_UNREACHABLE, ICMP_UNREACH_HOST, 0},
		{ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_NOROUTE, 0}},
	[ERROR_NO_PORT] = {{ICMP_UNREACHABLE, ICMP_UNREACH_PORT, 0},
		{ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_NOPORT, 0}},
	[ERROR_NO_PROTOCOL] = {{ICMP_UNREACHABLE, ICMP_UNREACH_PROTOCOL, 0},
		{ICMP6_PARAM_PROB, ICMP6_PARAMPROB_NEXTHEADER, 0}},
	[ERROR_PROHIBITED] = {{ICMP_UNREACHABLE, ICMP_UNREACH_PROHIBITED, 0},
		{ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_ADMIN, 0}},
	[ERROR_TTL] = {{ICMP_TIME_EXCEEDED, 0, 0},
		{ICMP6_TIME_EXCEEDED, ICMP6_TIME_EXCEED_TRANSIT, 0}},
	[ERROR_REASSEMBLY] = {{ICMP_TIME_EXCEEDED, ICMP_TIME_EXCEEDED_REASSEMBLY, 0},
		{ICMP6_TIME_EXCEEDED, ICMP6_TIME_EXCEED_REASSEMBLY, 0}},
	[ERROR_TOO_BIG] = {{ICMP_UNREACHABLE, ICMP_UNREACH_NEEDFRAG, 0},
		{ICMP6_PACKET_TOO_BIG, 0, 0}},
	[ERROR_OPTION] = {.v6 = {ICMP6_PARAM_PROB, ICMP6_PARAMPROB_OPTION, 0}},
	[ERROR_HEADER] = {.v6 = {ICMP6_PARAM_PROB, ICMP6_PARAMPROB_HEADER, 0}},
	[ERROR_FIRST_FRAGMENT] = {.v6 = {ICMP6_PARAM_PROB, ICMP6_PARAMPROB_FIRST_FRAGMENT, 0}},
};

static struct rate_bucket *error_bucket(struct worker *w, const struct pkt *p)
{
	return p->sa_in != NULL ? &p->sa_in->sa.per_worker[w->id].errors
				: &w->errors[pkt_port(w, p)];
}

bool error_is_suppressed(struct worker *w, const struct pkt *p)
{
	uint32_t rate = atomic_load_explicit(&w->errors_per_second, memory_order_relaxed);

	if (worker_has_token(w, error_bucket(w, p), rate, rate))
		return false;
	w->counters.errors_suppressed++;
	return true;
}

bool error_take(struct worker *w, const struct pkt *p)
{
	if (error_is_suppressed(w, p))
		return false;
	error_bucket(w, p)->tokens -= w->tsc_hz;
	return true;
}

const struct nexthop *error_route_back(const struct worker *w, const struct pkt *p,
	const struct ip_addr *from, const struct ip_addr *addr)
{
	const struct nexthop *via = &w->snapshot->ike_via[p->ip.v4 ? SOURCE_V4 : SOURCE_V6];
	const struct nexthop *back;

	if (ip_addr_is_link_local(addr))
		return &pkt_link(w, p)->on_link;
	back = hop_find(
		w->snapshot, route_find_from(w->snapshot->routes, from, addr), from, addr, 0, NULL);
	if (back != NULL && back->kind == NEXTHOP_LOCAL && !ip_addr_is_none(&via->gateway) &&
		via->iface == pkt_port(w, p))
		return via;
	return back;
}

// The source address of a packet to the source of p: through a tunnel, one that its policy covers
// if there is one, so that the peer's policy admits it. If the destination is translated, it is the
// destination that the sender knows, as with Linux: own addresses may mean others there. None:
// there is no route.
static struct ip_addr preferred_source(const struct worker *w, const struct pkt *p)
{
	struct ip_ends sent;

	if (translate_sent(w, p, &sent))
		return sent.dst;
	if (pkt_iface(w, p)->is_host) // the kernel refuses own addresses
		return pkt_dst(p);
	if (p->in_by != 0)
		return policy_source(w->snapshot, snapshot_policy(w->snapshot, p->in_by),
			p->ip.v4 ? IP_V4 : IP_V6);

	const struct ip_addr any = {0};
	const struct nexthop *back = error_route_back(w, p, &any, &sent.src);

	return back != NULL && back->kind <= NEXTHOP_GATEWAY ? back->source : (struct ip_addr){0};
}

// Any own IPv6 address will do for an error (RFC 4443 2.2 d).
static bool other_source(struct ip_addr *source, const struct worker *w)
{
	for (unsigned int i = 0; i < w->snapshot->n_ports; i++)
		for (unsigned int a = 0; a < w->snapshot->port[i].n_addrs; a++) {
			*source = w->snapshot->port[i].addrs[a];
			if (!ip_addr_is_v4(source) && !ip_addr_is_link_local(source) &&
				dad_may_use(w->dad, source))
				return true;
		}
	return false;
}

static bool source_for(struct ip_addr *source, const struct worker *w, const struct pkt *p)
{
	*source = preferred_source(w, p);
	if (ip_addr_is_none(source))
		return false;
	return dad_may_use(w->dad, source) || (!p->ip.v4 && other_source(source, w));
}

// Whether to send a packet about p, and from which address. The rate comes first, so that a flood
// stays cheap.
static bool error_permitted(struct worker *w, const struct pkt *p, struct ip_addr *source)
{
	if (p->own || w->own.n >= ERRORS_MAX || error_is_suppressed(w, p) ||
		!source_for(source, w, p))
		return false;
	error_bucket(w, p)->tokens -= w->tsc_hz;
	return true;
}

// Makes an empty packet to the source of p; the caller fills it and calls originate(). NULL: there
// is no buffer.
static struct pkt *originate_begin(struct worker *w, const struct pkt *p)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(w->pool);
	const struct rte_ether_hdr *frame = pkt_frame(p);
	struct pkt *own;

	if (m == NULL)
		return NULL;
	own = pkt_new(w);
	*own = *p;
	own->m = m;
	own->framed = frame != NULL;
	if (frame != NULL)
		memcpy(rte_pktmbuf_mtod(m, uint8_t *) - sizeof(*frame), frame, sizeof(*frame));
	own->own = true;
	own->sa_out = NULL;
	own->refrag_size = 0;
	own->segments = false;
	return own;
}

static void originate(struct worker *w, struct pkt *own, uint16_t len)
{
	rte_pktmbuf_append(own->m, len);
	ip_layout_read(&own->ip, pkt_ip(own));
	w->counters.originated++;
	burst_add(&w->own, own);
}

void error_send(struct worker *w, const struct pkt *p, enum error_fault fault, uint16_t argument)
{
	struct icmp_error error = p->ip.v4 ? words[fault].v4 : words[fault].v6;
	struct ip_addr source;
	struct pkt *own;

	if (!p->ip.v4 || fault == ERROR_TOO_BIG)
		error.param = argument;
	if (!icmp_error_allowed(&error, pkt_ip(p)) || !error_permitted(w, p, &source))
		return;
	own = originate_begin(w, p);
	if (own == NULL)
		return;
	originate(w, own,
		icmp_error_build(rte_pktmbuf_mtod(own->m, uint8_t *), error, &source,
			(rte_be16_t)(fragment_id(w) >> 16), pkt_ip(p)));
	translate_error(w, p, own);
}

static bool may_reset(const struct pkt *p)
{
	return tcp_reset_allowed(pkt_ip(p), &p->ip) &&
	       icmp_error_allowed(&words[ERROR_PROHIBITED].v6, pkt_ip(p));
}

void error_send_reset(struct worker *w, const struct pkt *p)
{
	struct ip_addr source; // not used: a reset comes from the destination of the packet
	struct pkt *own =
		may_reset(p) && error_permitted(w, p, &source) ? originate_begin(w, p) : NULL;

	if (own != NULL)
		originate(w, own,
			tcp_reset_build(rte_pktmbuf_mtod(own->m, uint8_t *), pkt_ip(p), &p->ip));
}
