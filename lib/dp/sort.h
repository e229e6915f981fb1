// SPDX-License-Identifier: BSD-3-Clause
// Sorts IP packets, received in clear or decapsulated, by the lookup that they need: of an SA
// (w->esp) or of a flow (w->transit). Neither needs a route if it is found. Fragments are
// reassembled first. Workers.
#pragma once

#include "worker.h"

// For the functions below alone: UDP while an SA uses that; IPv4 with options, in fragments, or too
// short for the first octets of an upper layer.
void sort_udp(struct worker *w, struct pkt *p);
enum drop sort_v4_unusual(struct worker *w, struct pkt *p);

// ESP, whose header is esp_off octets behind the IP header. Starts the look-up of its SA, once for
// packets with one SPI that follow each other.
static __rte_always_inline void sort_esp(struct worker *w, struct pkt *p, uint16_t esp_off)
{
	const uint16_t i = w->esp.n;

	if (unlikely(p->from_host)) {
		burst_add(&w->transit, p);
		return;
	}
	p->esp_off = esp_off;
	w->spi[i] = likely(pkt_has_esp(p)) ? pkt_esp(p)->spi : 0;
	if (i == 0 || w->spi[i] != w->spi[i - 1])
		snapshot_prefetch_in(w->snapshot, w->spi[i]);
	burst_add(&w->esp, p);
}

static __rte_always_inline void sort_upper(struct worker *w, struct pkt *p)
{
	if (p->ip.proto == IPPROTO_ESP && p->sa_in == NULL)
		sort_esp(w, p, p->ip.l4_off);
	else if (unlikely(p->ip.proto == IPPROTO_UDP && w->natt))
		sort_udp(w, p);
	else
		burst_add(&w->transit, p);
}

// p holds one packet with a checked IP header, which is parsed: p->ip; ip is where it is. Return
// DROP_NONE; for malformed IPv4 options DROP_IP_HEADER, for malformed extension headers
// DROP_EXT_HEADERS; or DROP_SOURCE_ROUTED.
static __rte_always_inline enum drop sort_v4(
	struct worker *w, struct pkt *p, const struct rte_ipv4_hdr *ip)
{
	if (unlikely(!ip_layout_v4_is_plain(ip)))
		return sort_v4_unusual(w, p);
	ip_layout_v4_plain(&p->ip, ip);
	sort_upper(w, p);
	return DROP_NONE;
}

enum drop sort_v6(struct worker *w, struct pkt *p);

static __rte_always_inline enum drop sort_packet(struct worker *w, struct pkt *p)
{
	return ip_is_v4(pkt_ip(p)) ? sort_v4(w, p, pkt_ip(p)) : sort_v6(w, p);
}
