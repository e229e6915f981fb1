// SPDX-License-Identifier: BSD-3-Clause
// A packet on its way through one pass, and bursts of them. Owned by one worker. A packet keeps its
// place in memory for the whole pass; bursts only point at it.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_esp.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>

#include "ip_view.h"
#include "ipv6.h"
#include "route.h"
#include "sa.h"
#include "spd.h"

// From the check of its frame on, m is contiguous and its data starts at the IP header and ends
// with the IP packet.
struct pkt {
	struct rte_mbuf *m;
	struct sa_in *sa_in;             // the SA that it came out of; NULL: it came in clear
	const struct spd_policy *in_by;  // the policy that let it in out of sa_in
	const struct spd_policy *out_by; // the policy that lets it out, once it has been asked
	struct sa_out *sa_out;           // the SA that is to protect it; NULL: goes in clear
	const struct nexthop *nexthop;   // the way to its destination; NULL: none
	uint16_t port;                   // the port that it came in by
	// Of what came in as fragments that nobody may cut (IPv6, or IPv4 with "don't fragment"),
	// and may leave so again: octets of the largest; else 0.
	uint16_t frag_max;
	rte_be32_t frag_id; // of IPv6, their identification
	// Of ESP for us: octets from the IP header to the ESP header, and if that is behind one of
	// UDP (RFC 3948) the port that it came to, else 0.
	uint16_t esp_off;
	rte_be16_t udp_port;
	bool own; // made here: no error is sent about it
	// The Ethernet header that it came with is still in front of the data; of what is made
	// here, that of the packet which it answers.
	bool framed;
	uint16_t trace; // see trace.c; 0: it is not traced
};

static_assert(sizeof(struct pkt) == 64, "one cache line");

#define RX_BURST_MAX 64  // packets that one pass takes in
#define BURST_MAX    512 // the fragments of any packet find room: fragment.h

struct burst {
	uint16_t n;
	struct pkt *p[BURST_MAX];
};

// The Ethernet header that a packet in clear came with; NULL: it is not known.
static inline const struct rte_ether_hdr *pkt_frame(const struct pkt *p)
{
	if (!p->framed || p->sa_in != NULL)
		return NULL;
	return rte_pktmbuf_mtod_offset(
		p->m, const struct rte_ether_hdr *, -(int)sizeof(struct rte_ether_hdr));
}

// Whether the packet is for an address of this gateway.
static inline bool pkt_is_local(const struct pkt *p)
{
	return p->nexthop != NULL && p->nexthop->kind == NEXTHOP_LOCAL;
}

// By the IP header that its data starts with.
static inline bool pkt_is_v4(const struct pkt *p)
{
	return ip_is_v4(rte_pktmbuf_mtod(p->m, const void *));
}

static inline struct rte_ipv4_hdr *pkt_ip(const struct pkt *p)
{
	return rte_pktmbuf_mtod(p->m, struct rte_ipv4_hdr *);
}

static inline struct rte_ipv6_hdr *pkt_ip6(const struct pkt *p)
{
	return rte_pktmbuf_mtod(p->m, struct rte_ipv6_hdr *);
}

static inline struct ip_addr pkt_src(const struct pkt *p)
{
	return pkt_is_v4(p) ? ip_addr_from_v4(pkt_ip(p)->src_addr) : ipv6_src(pkt_ip6(p));
}

static inline struct ip_addr pkt_dst(const struct pkt *p)
{
	return pkt_is_v4(p) ? ip_addr_from_v4(pkt_ip(p)->dst_addr) : ipv6_dst(pkt_ip6(p));
}

static inline bool pkt_has_esp(const struct pkt *p)
{
	return rte_pktmbuf_data_len(p->m) >= p->esp_off + sizeof(struct rte_esp_hdr);
}

// If pkt_has_esp().
static inline const struct rte_esp_hdr *pkt_esp(const struct pkt *p)
{
	return rte_pktmbuf_mtod_offset(p->m, const struct rte_esp_hdr *, p->esp_off);
}
