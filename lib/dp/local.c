// SPDX-License-Identifier: BSD-3-Clause
#include "local.h"

#include "error.h"
#include "esp_out.h"
#include "forward.h"
#include "fragment.h"
#include "host.h"
#include "icmp.h"
#include "ip_view.h"
#include "ipv4.h"
#include "natt.h"
#include "output.h"
#include "ping_input.h"
#include "pkt_drop.h"
#include "pmtu.h"
#include "policy.h"
#include "policy_find.h"
#include "tracepoint.h"

static struct rate_bucket *echo_bucket(struct worker *w, const struct pkt *p)
{
	return p->sa_in != NULL ? &p->sa_in->sa.per_worker[w->id].echoes
				: &w->echoes[pkt_port(w, p)];
}

static bool echo_has_token(struct worker *w, const struct pkt *p)
{
	uint32_t rate = atomic_load_explicit(&w->echoes_per_second, memory_order_relaxed);

	return worker_has_token(w, echo_bucket(w, p), rate, rate);
}

static bool echo_permitted(struct worker *w, const struct pkt *p)
{
	if (!echo_has_token(w, p))
		return false;
	echo_bucket(w, p)->tokens -= w->tsc_hz;
	return true;
}

// The packet has become the reply to itself.
static enum drop reply_enqueue(struct worker *w, struct pkt *p)
{
	w->counters.local++;
	w->counters.originated++;
	p->own = true;
	ip_layout_read(&p->ip, pkt_ip(p));
	burst_add(&w->own, p);
	return DROP_NONE;
}

// The address that a packet is for; of an anycast address (RFC 4291 2.6.1), our own on that link.
// An address that a rule translates into an own one stays as it is.
static struct ip_addr own_address(const struct worker *w, const struct pkt *p)
{
	const struct ip_addr to = pkt_dst(p);
	const struct nexthop *own = route_find(w->snapshot->routes, &to);

	return own != NULL && own->kind == NEXTHOP_LOCAL ? own->source : to;
}

static enum drop echo_input(struct worker *w, struct pkt *p)
{
	const struct ip_addr own = own_address(w, p);

	if (!echo_permitted(w, p))
		return DROP_ECHO_LIMIT;
	if (p->ip.v4)
		icmp_echo_reply(pkt_ip(p));
	else
		rte_pktmbuf_trim(
			p->m, (uint16_t)(rte_pktmbuf_data_len(p->m) -
					 icmp6_echo_reply(pkt_ip6(p), p->ip.l4_off, &own)));
	return reply_enqueue(w, p);
}

// Whether the address that a packet is for is not tentative (RFC 4862 5.4).
static bool is_usable(const struct worker *w, const struct pkt *p)
{
	const struct ip_addr own = own_address(w, p);

	return p->ip.v4 || dad_may_use(w->dad, &own);
}

enum drop local_check_new(const struct worker *w, const struct pkt *p)
{
	return is_usable(w, p) && icmp_echo_is_request(pkt_ip(p), &p->ip) ? DROP_NONE
									  : DROP_LOCAL_UNSERVED;
}

// Whether the gateway may process an IPv6 packet: the address is usable, and it knows the options
// (RFC 8200 4.2).
static enum drop check_v6(struct worker *w, struct pkt *p)
{
	uint16_t fault_off;

	if (!is_usable(w, p))
		return DROP_LOCAL_UNSERVED;
	switch (ipv6_options_check(&fault_off, pkt_ip6(p), p->ip.l4_off)) {
	case IPV6_OPTIONS_PASS:
		return DROP_NONE;
	case IPV6_OPTIONS_DROP:
		break;
	case IPV6_OPTIONS_TELL:
	case IPV6_OPTIONS_TELL_IF_UNICAST:
		error_send(w, p, ERROR_OPTION, fault_off);
		break;
	}
	return DROP_EXT_HEADERS;
}

// Passes an error about IKE on. Where the quote does not show whether it is IKE or ESP in UDP, path
// MTU discovery gets it as well.
static enum drop punt_error(struct worker *w, struct pkt *p)
{
	if (pmtu_is_error(p))
		pmtu_learn(w, p);
	burst_add(&w->forward, p);
	return DROP_NONE;
}

static enum drop serve(struct worker *w, struct pkt *p)
{
	uint8_t proto = p->ip.proto;
	enum drop d = p->ip.v4 ? DROP_NONE : check_v6(w, p);

	if (d != DROP_NONE)
		return d;
	if (icmp_echo_is_request(pkt_ip(p), &p->ip))
		return echo_input(w, p);
	// The reply to a probe of its tunnel: the SA has counted it, which is all that matters.
	if (ping_input(w, p) || (p->sa_in != NULL && icmp_echo_is_reply(pkt_ip(p), &p->ip)))
		return pkt_consume(w, p);
	if (natt_is_ike_error(w, p))
		return punt_error(w, p);
	if (pmtu_is_error(p))
		return pmtu_input(w, p);
	if (proto == IPPROTO_TCP || proto == IPPROTO_UDP)
		error_send(w, p, ERROR_NO_PORT, 0);
	else if (proto != (p->ip.v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6) &&
		 (p->ip.v4 || proto != IPPROTO_NONE))
		error_send(w, p, ERROR_NO_PROTOCOL, ip_layout_next_off(pkt_ip(p), &p->ip));
	return DROP_LOCAL_UNSERVED;
}

static enum drop check_admitted(struct worker *w, struct pkt *p, const struct policies *found)
{
	enum drop d = policy_is_inbound(w, p) ? policy_check_inbound(w, p, found) : DROP_NONE;

	// Errors of routers about ESP packets are never in ESP, and are compared with the packets
	// sent (RFC 4301 6.1.1, 8.2.1).
	return d == DROP_CLEAR_TEXT && pmtu_is_error(p) ? DROP_NONE : d;
}

enum drop local_admit(struct worker *w, struct pkt *p)
{
	struct policies found;

	policy_find(w, &p, 1, &found);
	return check_admitted(w, p, &found);
}

static bool has_extensions(const struct pkt *p)
{
	return !p->ip.v4 && p->ip.l4_off != sizeof(struct rte_ipv6_hdr);
}

// Whatever its checksum.
static bool is_ping(const struct pkt *p)
{
	return p->ip.v4 ? p->ip.proto == IPPROTO_ICMP && p->ip.icmp_type == ICMP_ECHO_REQUEST
			: p->ip.proto == IPPROTO_ICMPV6 && p->ip.icmp_type == ICMP6_ECHO_REQUEST;
}

static bool is_zero(const _Atomic uint32_t *rate)
{
	return atomic_load_explicit(rate, memory_order_relaxed) == 0;
}

// Drops a packet that the rates do not permit to answer now before the policy lookup, which costs
// more than the rest: a flood has to stay cheap. Where a rate is 0, policy determines the reason.
static enum drop check_limit(struct worker *w, const struct pkt *p)
{
	if (pkt_is_oversized(p))
		return DROP_FRAME_SCATTERED;
	if (has_extensions(p))
		return DROP_NONE;
	if (is_ping(p))
		return is_zero(&w->echoes_per_second) || echo_has_token(w, p) ? DROP_NONE
									      : DROP_ECHO_LIMIT;
	if (ip_proto_has_ports(p->ip.proto) && !is_zero(&w->errors_per_second) &&
		error_is_suppressed(w, p))
		return DROP_LOCAL_UNSERVED;
	return DROP_NONE;
}

// Drops the packets of the burst that exceed a limit.
static void enforce_limits(struct worker *w, struct burst *b)
{
	uint16_t kept = 0;

	for (uint16_t i = 0; i < b->n; i++) {
		enum drop d = check_limit(w, b->p[i]);

		if (d != DROP_NONE)
			pkt_drop(w, b->p[i], d);
		else
			b->p[kept++] = b->p[i];
	}
	b->n = kept;
}

void local_burst(struct worker *w)
{
	struct policies found[RX_BURST_MAX];
	struct burst *b = &w->local;

	enforce_limits(w, b);
	policy_find(w, b->p, b->n, found);
	for (uint16_t i = 0; i < b->n; i++) {
		struct pkt *p = b->p[i];
		enum drop d = check_admitted(w, p, &found[i]);

		if (d == DROP_NONE)
			d = serve(w, p);
		if (d != DROP_NONE)
			pkt_drop(w, p, d);
	}
	b->n = 0;
}

// Applies outbound policy to an own packet for the unprotected side (RFC 4301 5.1). Without one, a
// reply to that side is sent in clear; but a packet to there that a protected host has provoked is
// dropped: it may belong into a tunnel.
static enum drop reply_policy(struct worker *w, struct pkt *p)
{
	const struct ip_view v = pkt_view(p);
	enum drop d;

	if (pkt_goes_into_tunnel(p))
		return policy_check_outbound(w, p, snapshot_tunnel(w->snapshot, p->nexthop));
	if (!policy_goes_outside(w, p))
		return DROP_NONE;
	d = policy_check_outbound(w, p, policy_find_outbound(w->snapshot, &v));
	return pkt_iface(w, p)->unprotected ? DROP_NONE : d;
}

// A source may fragment its packets (RFC 8200 5), to the smallest MTU at most.
static void allow_fragments(struct worker *w, struct pkt *p)
{
	uint16_t limit = p->sa_out != NULL
				 ? esp_out_mtu(&p->sa_out->sa, sa_out_path(p->sa_out), p->m)
				 : w->snapshot->iface[p->nexthop->iface].mtu;

	limit = (uint16_t)RTE_MAX(limit, IPV6_MIN_MTU);
	if (rte_pktmbuf_data_len(p->m) <= limit && p->refrag_size <= limit)
		return;
	if (p->refrag_size == 0)
		p->frag_id = fragment_id(w);
	p->refrag_size = limit;
}

// Whether p can be sent to the station whose frame it is a reply to, which is the host itself or
// the router in front of it: no neighbour has to be resolved.
static bool fits_frame(const struct worker *w, const struct pkt *p)
{
	const struct rte_ether_hdr *frame = pkt_frame(p);

	return frame != NULL && p->sa_out == NULL && p->nexthop->iface == pkt_port(w, p) &&
	       rte_is_valid_assigned_ether_addr(&frame->src_addr) && p->refrag_size == 0 &&
	       rte_pktmbuf_data_len(p->m) <= pkt_iface(w, p)->mtu;
}

static void send_to_frame(struct worker *w, struct pkt *p)
{
	const struct rte_ether_addr to = pkt_frame(p)->src_addr;

	trace_note(w, p, TRACE_SENT, (struct trace_fact){.port = pkt_port(w, p) + 1});
	output_to(w, p->m, pkt_port(w, p), &to);
}

// An error about a packet of the host goes back to it. A reply takes the path of the packet that it
// is about (RFC 4301 6): through the outbound SA of the policy that admitted it; in clear if
// outbound policy allows.
static enum drop reply_route(struct worker *w, struct pkt *p)
{
	const struct ip_addr from = pkt_src(p), to = pkt_dst(p);
	enum drop d = DROP_NONE;

	if (pkt_iface(w, p)->is_host) {
		host_punt(w, p, p->iface, (struct host_limit){HOST_OPEN, HOST_OWN});
		return DROP_NONE;
	}
	p->nexthop = error_route_back(w, p, &from, &to);
	if (p->in_by != 0)
		d = policy_protect(w, p, snapshot_policy(w->snapshot, p->in_by));
	else
		d = reply_policy(w, p);
	if (d == DROP_NONE && p->sa_out == NULL)
		d = forward_route(w, p);
	if (d == DROP_NONE && !p->ip.v4)
		allow_fragments(w, p);
	if (d != DROP_NONE)
		return d;
	if (fits_frame(w, p))
		send_to_frame(w, p);
	else
		burst_add(p->sa_out != NULL ? &w->protect : &w->forward, p);
	return DROP_NONE;
}

void local_output(struct worker *w)
{
	burst_apply(w, &w->own, reply_route);
	w->own.n = 0;
}
