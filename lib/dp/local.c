// SPDX-License-Identifier: BSD-3-Clause
#include "local.h"

#include "forward.h"
#include "ipv4.h"
#include "policy.h"
#include "tcp.h"

// Errors in one pass: those about held packets must leave room for answers to a whole burst.
#define ERRORS_MAX (BURST_MAX - RX_BURST_MAX)

// Whether another error may be sent now: a bucket that fills at the configured rate and holds one
// second's worth. One for each port and one for all tunnels: a flood by one does not keep the hosts
// behind another from learning what fits.
static bool error_permitted(struct worker *w, const struct pkt *p)
{
	struct error_bucket *b = &w->errors[p->sa_in != NULL ? PORTS_MAX : p->port];
	uint64_t full = w->tsc_hz * w->errors_per_second;
	uint64_t elapsed = RTE_MIN(w->now - b->time, w->tsc_hz);

	b->time = w->now;
	b->tokens = RTE_MIN(b->tokens + elapsed * w->errors_per_second, full);
	if (b->tokens < w->tsc_hz) {
		w->counters.errors_suppressed++;
		return false;
	}
	b->tokens -= w->tsc_hz;
	return true;
}

// The address to speak from to the sender of p: through a tunnel one that its policy covers, so
// that the peer's policy lets it in.
static bool source_for(rte_be32_t *source, const struct worker *w, const struct pkt *p)
{
	if (p->in_by != NULL) {
		size_t i = (size_t)(p->in_by - spd_at(w->snapshot->spd, 0));
		const struct ip_addr *addr = &w->snapshot->policy_source[i];

		*source = ip_addr_v4(addr);
		return !ip_addr_is_none(addr);
	}

	const struct nexthop *back = route_find_v4(w->snapshot->routes, pkt_ip(p)->src_addr);

	if (back == NULL || back->kind > NEXTHOP_GATEWAY)
		return false;
	*source = ip_addr_v4(&back->source);
	return true;
}

// Whether to speak about p at all, and then from where.
static bool may_speak(struct worker *w, const struct pkt *p, rte_be32_t *source)
{
	return !p->own && icmp_error_allowed(pkt_ip(p)) && source_for(source, w, p) &&
	       w->own.n < ERRORS_MAX && error_permitted(w, p);
}

// An empty packet that goes back the way of p; the caller fills it and hands it to say(). NULL if
// there is no buffer.
static struct pkt *own_begin(struct worker *w, const struct pkt *p)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(w->pool);
	struct pkt *own;

	if (m == NULL)
		return NULL;
	own = pkt_new(w);
	*own = *p;
	own->m = m;
	own->own = true;
	own->sa_out = NULL;
	return own;
}

static void say(struct worker *w, struct pkt *own, uint16_t len)
{
	rte_pktmbuf_append(own->m, len);
	w->counters.originated++;
	burst_add(&w->own, own);
}

void local_error(struct worker *w, const struct pkt *p, struct icmp_error error)
{
	rte_be32_t source;
	struct pkt *own = may_speak(w, p, &source) ? own_begin(w, p) : NULL;

	if (own != NULL)
		say(w, own,
			icmp_error_build(
				rte_pktmbuf_mtod(own->m, uint8_t *), error, source, pkt_ip(p)));
}

void local_reset(struct worker *w, const struct pkt *p)
{
	rte_be32_t source; // not used: a reset comes from whom the packet went to
	bool may = tcp_reset_allowed(pkt_ip(p)) && may_speak(w, p, &source);
	struct pkt *own = may ? own_begin(w, p) : NULL;

	if (own != NULL)
		say(w, own, tcp_reset_build(rte_pktmbuf_mtod(own->m, uint8_t *), pkt_ip(p)));
}

enum drop local_input(struct worker *w, struct pkt *p)
{
	struct rte_ipv4_hdr *ip = pkt_ip(p);
	bool inbound = p->sa_in != NULL || w->snapshot->port[p->port].unprotected;
	enum drop d = inbound ? policy_let_in(w, p) : DROP_NONE;

	if (d != DROP_NONE)
		return d;
	if (icmp_is_echo_request(ip)) {
		icmp_echo_reply(ip);
		w->counters.local++;
		w->counters.originated++;
		p->own = true;
		burst_add(&w->own, p);
		return DROP_NONE;
	}
	if (ip->next_proto_id == IPPROTO_TCP || ip->next_proto_id == IPPROTO_UDP)
		local_error(w, p, (struct icmp_error){ICMP_UNREACHABLE, ICMP_UNREACH_PORT, 0});
	else if (ip->next_proto_id != IPPROTO_ICMP)
		local_error(w, p, (struct icmp_error){ICMP_UNREACHABLE, ICMP_UNREACH_PROTOCOL, 0});
	return DROP_LOCAL_UNSERVED;
}

static bool crosses_boundary(const struct worker *w, const struct pkt *p)
{
	const struct snapshot_port *port = w->snapshot->port;

	return !port[p->port].unprotected && p->nexthop != NULL &&
	       port[p->nexthop->port].unprotected;
}

// Our own words go back the way that the packet came which made us speak (RFC 4301 6): through its
// tunnel, or in clear if it was clear. Whom the protected side makes us speak to outside, policy
// decides, or a host there could have us say in clear what belongs in a tunnel.
static enum drop answer(struct worker *w, struct pkt *p)
{
	enum drop d = DROP_NONE;

	p->nexthop = route_find_v4(w->snapshot->routes, pkt_ip(p)->dst_addr);
	if (p->in_by != NULL)
		p->sa_out = p->in_by->out;
	else if (crosses_boundary(w, p))
		d = policy_let_out(w, p);
	if (d == DROP_NONE && p->sa_out == NULL)
		d = forward_route(w, p);
	if (d == DROP_NONE)
		burst_add(p->sa_out != NULL ? &w->protect : &w->forward, p);
	return d;
}

void local_output(struct worker *w)
{
	burst_apply(w, &w->own, answer);
	w->own.n = 0;
}
