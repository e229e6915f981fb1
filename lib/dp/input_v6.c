// SPDX-License-Identifier: BSD-3-Clause
#include "input.h"

#include "dad.h"
#include "host.h"
#include "input_check.h"
#include "mld.h"
#include "nd.h"
#include "output.h"
#include "pkt_drop.h"
#include "segment.h"
#include "sort.h"

static bool is_anycast(const struct snapshot_port *port, const struct ip_addr *addr)
{
	for (unsigned int i = 0; i < port->n_anycast; i++)
		if (ip_addr_equal(&port->anycast[i], addr))
			return true;
	return false;
}

// Answers a solicitation of an own address, or of a subnet-router anycast address: that at once,
// where RFC 4861 7.2.7 wants a delay of up to a second.
static void nd_answer(struct worker *w, uint16_t number, const struct nd_message *asked,
	const struct rte_ether_addr *from, bool anycast)
{
	const struct snapshot_port *port = &w->snapshot->port[number];
	const struct ip_addr *source = &port->on_link.source;
	struct rte_mbuf *m;
	uint8_t *to;

	if (anycast && (ip_addr_is_none(&asked->source) || !dad_may_use(w->dad, source)))
		return;
	m = rte_pktmbuf_alloc(w->pool);
	if (m == NULL)
		return; // solicited again in a second
	to = rte_pktmbuf_mtod(m, uint8_t *);
	rte_pktmbuf_append(m, anycast ? nd_anycast_answer_build(to, &port->mac, source, asked, from)
				      : nd_answer_build(to, snapshot_port_mac(port, &asked->target),
						asked, from));
	w->counters.originated++;
	output_frame(w, m, number);
}

// A solicitation, of neighbours or of routers (RFC 4861 7.2.3, 6.2.6).
static void nd_solicited(struct worker *w, uint16_t port, const struct nd_message *m,
	const struct rte_ether_addr *from)
{
	bool own = snapshot_port_has(&w->snapshot->port[port], &m->target);
	bool anycast = !own && is_anycast(&w->snapshot->port[port], &m->target);
	bool answers = own && (dad_state(w->dad, port, &m->target) == DAD_ASSIGNED ||
				      dad_is_expected(w->dad, &m->target));
	// The active member sends from it. Another port may have the same link-local one.
	bool of_other = dad_is_standby_on(w->dad, port, &m->source);
	struct event e = {.kind = EVENT_ND_SOLICITED,
		.addr = m->source,
		.mac = m->mac,
		.port = port,
		.for_us = own || anycast};

	if (snapshot_port_has(&w->snapshot->port[port], &m->source))
		e.kind = EVENT_ADDR_CONFLICT;
	if (m->has_mac && !of_other &&
		(e.for_us || e.kind == EVENT_ADDR_CONFLICT ||
			neigh_has(w->neigh, port, &m->source)))
		worker_event_post_share(w, &e, SHARE_LINK);
	// Another station checks an address that is tentative here (RFC 4862 5.4.3).
	if (own && !answers && ip_addr_is_none(&m->source)) {
		e = (struct event){
			.kind = EVENT_DAD_HEARD, .addr = m->target, .mac = *from, .port = port};
		worker_event_post_share(w, &e, SHARE_LINK);
	}
	if (answers || anycast)
		nd_answer(w, port, m, from, anycast);
}

// RFC 4861 7.2.5, RFC 4862 5.4.4
static void nd_advertised(struct worker *w, uint16_t port, const struct nd_message *m,
	const struct rte_ether_addr *from)
{
	bool own = snapshot_port_has(&w->snapshot->port[port], &m->target);
	struct event e = {.kind = own ? EVENT_DAD_HEARD : EVENT_ND_ADVERTISED,
		.addr = m->target,
		.mac = own ? *from : m->mac,
		.port = port,
		.has_mac = own || m->has_mac,
		.solicited = m->solicited,
		.override = m->override};

	if (own || neigh_has(w->neigh, port, &m->target))
		worker_event_post_share(w, &e, SHARE_LINK);
}

// Consumes a message of neighbour discovery; an echo of our own is not processed.
static enum drop nd_input(struct worker *w, struct pkt *p, const struct nd_message *m,
	const struct rte_ether_addr *from)
{
	if (dad_is_standby_on(w->dad, pkt_port(w, p), &m->target) &&
		!dad_is_expected(w->dad, &m->target))
		return DROP_STANDBY;
	if (!snapshot_port_is_at(pkt_link(w, p), from)) {
		if (m->kind == ND_ADVERTISEMENT)
			nd_advertised(w, pkt_port(w, p), m, from);
		else
			nd_solicited(w, pkt_port(w, p), m, from);
	}
	return pkt_consume(w, p);
}

// Processes an MLD query, which is for this link alone; an echo of our own is not processed. The
// host behind the port reports groups of its own.
static enum drop mld_input(struct worker *w, struct pkt *p, const struct mld_query *q,
	const struct rte_ether_addr *from)
{
	struct event e = {.kind = EVENT_MLD_QUERY,
		.addr = q->group,
		.port = pkt_port(w, p),
		.v1 = q->v1,
		.delay_ms = q->delay_ms,
		.interval_s = q->interval_s};

	if (!snapshot_port_is_at(pkt_link(w, p), from))
		worker_event_post_share(w, &e, SHARE_LINK);
	return host_behind(w, pkt_port(w, p)) != NULL ? host_input_group(w, p) : pkt_consume(w, p);
}

enum drop input_v6(struct worker *w, struct pkt *p)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(p->m, const struct rte_ether_hdr *);
	const bool to_group = rte_is_multicast_ether_addr(&eth->dst_addr);
	const struct rte_ipv6_hdr *ip =
		(const struct rte_ipv6_hdr *)rte_pktmbuf_adj(p->m, sizeof(*eth));
	enum drop d = input_check_v6(ip, rte_pktmbuf_pkt_len(p->m));
	struct nd_message m;
	struct mld_query q;
	struct ip_addr source;
	bool host;

	if (d == DROP_NONE && segment_is_marked(p->m)) {
		d = segment_input(w, p);
		ip = pkt_ip6(p);
	}
	if (d != DROP_NONE)
		return d;
	// Ethernet pads short packets.
	rte_pktmbuf_trim(p->m, (uint16_t)(rte_pktmbuf_pkt_len(p->m) - ipv6_len(ip)));
	// RFC 4291 2.5.3, 2.7; the source :: is for neighbour discovery and MLD reports (RFC 3590).
	source = ipv6_src(ip);
	host = ipv6_is_host_address(&source);
	if (!host && !ip_addr_is_none(&source))
		return DROP_IP_SOURCE;
	switch (nd_read(&m, ip)) {
	case ND_NOT_OURS:
		break;
	case ND_GOOD:
		return nd_input(w, p, &m, &eth->src_addr);
	default:
		return DROP_ND_MALFORMED;
	}
	switch (ip->proto == IPPROTO_HOPOPTS ? mld_read(&q, ip) : MLD_NOT_OURS) {
	case MLD_NOT_OURS:
		break;
	case MLD_GOOD:
		return mld_input(w, p, &q, &eth->src_addr);
	case MLD_MALFORMED:
		return DROP_MLD_MALFORMED;
	}
	if (unlikely(pkt_iface(w, p)->follows_host) && ip_layout_read(&p->ip, ip) &&
		host_client_is_answer(w, p))
		return host ? host_client_input(w, p) : DROP_IP_SOURCE;
	if (to_group && host_behind(w, pkt_port(w, p)) == NULL)
		return DROP_NOT_UNICAST;
	if (!host)
		return DROP_IP_SOURCE;
	return to_group ? host_input_group(w, p) : sort_v6(w, p, ip);
}
