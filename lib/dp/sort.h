// SPDX-License-Identifier: BSD-3-Clause
// Sorts IP packets, received in clear or decapsulated, by the lookup that they need: of an SA
// (w->esp) or of a flow (w->transit). Neither needs a route if it is found. Fragments are
// reassembled first. Workers.
#pragma once

#include "natt.h"

// For the functions below alone: UDP for a port of ESP in UDP that may be something else; packets
// that are not plain, as ipv4_plain_len() and ipv6_plain_len() define it.
void sort_udp_unusual(struct worker *w, struct pkt *p);
enum drop sort_v4_unusual(struct worker *w, struct pkt *p);
enum drop sort_v6_unusual(struct worker *w, struct pkt *p);

// ESP in a packet of len octets at ip, whose header is esp_off octets after that. Starts the
// look-up of its SA, once for packets with one SPI that follow each other.
static __rte_always_inline void sort_esp(
	struct worker *w, struct pkt *p, const void *ip, uint32_t len, uint16_t esp_off)
{
	const struct rte_esp_hdr *esp = RTE_PTR_ADD(ip, esp_off);
	const rte_be32_t spi = likely(len >= esp_off + sizeof(*esp)) ? esp->spi : 0;

	p->esp_off = esp_off;
	w->spi[w->esp.n] = spi;
	if (spi != w->spi_last) {
		w->spi_last = spi;
		snapshot_prefetch_in(w->snapshot, spi);
	}
	burst_add(&w->esp, p);
}

// Whether ESP in the packet may be of an inbound SA: not if that was sent by the host, or is in
// ESP.
static inline bool sort_may_be_sa(const struct worker *w, const struct pkt *p)
{
	return p->sa_in == NULL && !pkt_iface(w, p)->is_host;
}

// UDP that may be ESP, as sort_upper().
static __rte_always_inline void sort_udp(
	struct worker *w, struct pkt *p, const void *ip, uint32_t len)
{
	const uint16_t off = p->ip.l4_off;

	if (likely(!snapshot_has_udp_port(w->snapshot, p->ip.dst_port))) {
		burst_add(&w->transit, p);
	} else if (likely(natt_is_esp(RTE_PTR_ADD(ip, off), len - off))) {
		natt_note(w, p);
		sort_esp(w, p, ip, len, (uint16_t)(off + sizeof(struct rte_udp_hdr)));
	} else {
		sort_udp_unusual(w, p);
	}
}

// A packet of len octets at ip, whose layout is in p.
static __rte_always_inline void sort_upper(
	struct worker *w, struct pkt *p, const void *ip, uint32_t len, bool may_be_sa)
{
	if (p->ip.proto == IPPROTO_ESP && may_be_sa)
		sort_esp(w, p, ip, len, p->ip.l4_off);
	else if (unlikely(p->ip.proto == IPPROTO_UDP && w->natt) && may_be_sa)
		sort_udp(w, p, ip, len);
	else
		burst_add(&w->transit, p);
}

// One for which ipv4_plain_len() has returned len; may_be_sa: see above.
static __rte_always_inline void sort_v4_plain(struct worker *w, struct pkt *p,
	const struct rte_ipv4_hdr *ip, uint32_t len, bool may_be_sa)
{
	ip_layout_v4_plain(&p->ip, ip);
	sort_upper(w, p, ip, len, may_be_sa);
}

// The same of IPv6, by ipv6_plain_len().
static __rte_always_inline void sort_v6_plain(struct worker *w, struct pkt *p,
	const struct rte_ipv6_hdr *ip, uint32_t len, bool may_be_sa)
{
	ip_layout_v6_plain(&p->ip, ip);
	sort_upper(w, p, ip, len, may_be_sa);
}

// p holds one packet with a checked IP header, which is parsed: p->ip; ip is where it is. Return
// DROP_NONE; for malformed IPv4 options DROP_IP_HEADER, for malformed extension headers
// DROP_EXT_HEADERS; or DROP_SOURCE_ROUTED.
static __rte_always_inline enum drop sort_v4(
	struct worker *w, struct pkt *p, const struct rte_ipv4_hdr *ip)
{
	const uint32_t len = ipv4_plain_len(ip, rte_pktmbuf_data_len(p->m));

	if (unlikely(len == 0))
		return sort_v4_unusual(w, p);
	sort_v4_plain(w, p, ip, len, sort_may_be_sa(w, p));
	return DROP_NONE;
}

static __rte_always_inline enum drop sort_v6(
	struct worker *w, struct pkt *p, const struct rte_ipv6_hdr *ip)
{
	const uint32_t len = ipv6_plain_len(ip, rte_pktmbuf_data_len(p->m));

	if (unlikely(len == 0))
		return sort_v6_unusual(w, p);
	sort_v6_plain(w, p, ip, len, sort_may_be_sa(w, p));
	return DROP_NONE;
}

static __rte_always_inline enum drop sort_packet(struct worker *w, struct pkt *p)
{
	return ip_is_v4(pkt_ip(p)) ? sort_v4(w, p, pkt_ip(p)) : sort_v6(w, p, pkt_ip6(p));
}
