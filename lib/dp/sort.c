// SPDX-License-Identifier: BSD-3-Clause
#include "sort.h"

#include "error.h"
#include "forward.h"
#include "icmp.h"
#include "input_check.h"
#include "local.h"
#include "reassemble.h"

void sort_udp_unusual(struct worker *w, struct pkt *p)
{
	if (natt_classify(w, p))
		sort_esp(w, p, pkt_ip(p), rte_pktmbuf_data_len(p->m),
			(uint16_t)(p->ip.l4_off + sizeof(struct rte_udp_hdr)));
	else
		burst_add(&w->transit, p);
}

enum drop sort_v4_unusual(struct worker *w, struct pkt *p)
{
	const struct rte_ipv4_hdr *ip = pkt_ip(p);
	enum drop d = input_check_options(ip); // out of an SA none is malformed: esp_in.c

	if (d != DROP_NONE) {
		p->ip = ip_layout_v4(ip);
		return d;
	}
	if (likely(ipv4_is_fragment(ip))) {
		p->ip = (struct ip_layout){.l4_off = rte_ipv4_hdr_len(ip),
			.proto = ip->next_proto_id,
			.v4 = true,
			.fragment = true};
		return reassemble_v4(w, p) ? sort_v4(w, p, pkt_ip(p)) : DROP_NONE;
	}
	p->ip = ip_layout_v4(ip);
	sort_upper(w, p, ip, rte_pktmbuf_data_len(p->m), sort_may_be_sa(w, p));
	return DROP_NONE;
}

// Reports a fault of the headers to the source of a packet addressed to the gateway (RFC 8200 4,
// 4.4); a router leaves that to the destination.
static void fault_report(struct worker *w, struct pkt *p, enum error_fault fault, uint16_t off)
{
	if (forward_lookup(w, p) == DROP_NONE && pkt_is_local(p) && local_admit(w, p) == DROP_NONE)
		error_send(w, p, fault, off);
}

static enum drop follow_extensions(struct worker *w, struct pkt *p, struct ipv6_upper *upper)
{
	enum ipv6_fault fault = ipv6_upper_find(upper, pkt_ip6(p), rte_pktmbuf_data_len(p->m));

	p->ip = ip_layout_v6(pkt_ip6(p), upper);
	switch (fault) {
	case IPV6_GOOD:
		return DROP_NONE;
	case IPV6_SOURCE_ROUTED:
		fault_report(w, p, ERROR_HEADER, upper->fault_off);
		return DROP_SOURCE_ROUTED;
	case IPV6_CHAIN_ORDER:
		fault_report(w, p, ERROR_NO_PROTOCOL, upper->fault_off);
		return DROP_EXT_HEADERS;
	case IPV6_CHAIN_TRUNCATED:
		if (upper->fragment)
			reassemble_report_first(w, p);
		return DROP_EXT_HEADERS;
	default:
		return DROP_EXT_HEADERS;
	}
}

enum drop sort_v6_unusual(struct worker *w, struct pkt *p)
{
	struct ipv6_upper upper;
	enum drop d = follow_extensions(w, p, &upper);

	if (d == DROP_NONE && unlikely(upper.fragment)) {
		if (!reassemble_v6(w, p, &upper))
			return DROP_NONE;
		d = follow_extensions(w, p, &upper);
		if (d == DROP_NONE && upper.fragment) // of a fragment
			d = DROP_EXT_HEADERS;
		if (d == DROP_NONE && p->m->nb_segs > 1) {
			d = forward_oversized(w, p);
			if (d == DROP_NONE)
				burst_add(&w->transit, p);
			return d;
		}
	}
	if (d == DROP_NONE)
		sort_upper(w, p, pkt_ip(p), rte_pktmbuf_data_len(p->m), sort_may_be_sa(w, p));
	return d;
}
