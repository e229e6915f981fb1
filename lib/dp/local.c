// SPDX-License-Identifier: BSD-3-Clause
#include "local.h"

#include "ipv4.h"

// Whether another error may be sent now: a bucket that fills at the configured rate and holds one
// second's worth.
static bool error_permitted(struct worker *w)
{
	uint64_t full = w->tsc_hz * w->errors_per_second;
	uint64_t elapsed = RTE_MIN(w->now - w->token_time, w->tsc_hz);

	w->token_time = w->now;
	w->error_tokens = RTE_MIN(w->error_tokens + elapsed * w->errors_per_second, full);
	if (w->error_tokens < w->tsc_hz) {
		w->counters.errors_suppressed++;
		return false;
	}
	w->error_tokens -= w->tsc_hz;
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

void local_error(struct worker *w, const struct pkt *p, struct icmp_error error)
{
	struct pkt own = *p;
	rte_be32_t source;

	if (p->own || !icmp_error_allowed(pkt_ip(p)) || !source_for(&source, w, p))
		return;
	// The answers to a whole burst of pings must find room behind the errors.
	if (w->own.n >= BURST_MAX - RX_BURST_MAX || !error_permitted(w))
		return;
	own.m = rte_pktmbuf_alloc(w->pool);
	if (own.m == NULL)
		return;

	uint16_t len =
		icmp_error_build(rte_pktmbuf_mtod(own.m, uint8_t *), error, source, pkt_ip(p));

	rte_pktmbuf_append(own.m, len);
	own.own = true;
	own.sa_out = NULL;
	w->counters.originated++;
	burst_add(&w->own, &own);
}

enum drop local_input(struct worker *w, struct pkt *p)
{
	struct rte_ipv4_hdr *ip = pkt_ip(p);

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
	p->nexthop = route_find_v4(w->snapshot->routes, pkt_ip(p)->dst_addr);
	if (p->in_by != NULL) {
		p->sa_out = p->in_by->out;
		burst_add(&w->protect, p);
	} else if (crosses_boundary(w, p)) {
		burst_add(&w->outbound, p);
	} else {
		burst_add(&w->forward, p);
	}
	return DROP_NONE;
}

void local_output(struct worker *w)
{
	burst_apply(w, &w->own, answer);
	w->own.n = 0;
}
