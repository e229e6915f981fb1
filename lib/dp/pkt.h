// SPDX-License-Identifier: BSD-3-Clause
// A packet in one pass, and bursts of them. Owned by one worker. A packet keeps its place in memory
// for the whole pass; bursts only point at it.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_esp.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>

#include "interface.h"
#include "ip_view.h"
#include "route.h"
#include "sa.h"
#include "spd.h"

// From the check of its frame on, m is contiguous and its data starts at the IP header and ends
// with the IP packet. Of a reassembled IPv6 datagram, the octets after the first 65535 are in a
// second buffer; of a TCP segment to be cut, those after the headers are in any number.
struct pkt {
	struct rte_mbuf *m;
	struct sa_in *sa_in;           // of an ESP packet, then of the packet in it; NULL: clear
	struct sa_out *sa_out;         // the SA to encapsulate it; NULL: sent in clear
	const struct nexthop *nexthop; // on the route to its destination; NULL: none
	uint16_t iface;                // number of the interface that it came by
	uint16_t in_by;                // number of the policy that admitted it from sa_in; 0: none
	// Layout of its headers: set by sort_packet(), and for packets that are originated. Void
	// once it is encapsulated.
	struct ip_layout ip;
	union {
		struct {
			// Octets of the largest fragment of a reassembled datagram that only its
			// source may fragment (IPv6, or IPv4 with DF): it may be sent as fragments
			// of this size again. With segments, octets of the largest part. Otherwise
			// 0.
			uint16_t refrag_size;
			bool own;           // originated here: no error is sent about it
			bool keeps_ttl : 1; // sent by the host, or an error about that
			bool released : 1;  // it was held for its group: hold.h
		};
		uint32_t rare; // all of these at once: 0 of most packets
	};
	rte_be16_t udp_port; // of ESP in UDP (RFC 3948), the own UDP port; 0: ESP directly in IP
	uint16_t frag_size;  // octets of the largest fragment to be sent; set by fragment.c
	rte_be32_t frag_id;  // identification of an IPv6 datagram that is fragmented
	uint16_t esp_off;    // of ESP, in UDP or not: octets from the IP header to the ESP header
	// The Ethernet header that it was received with is still in front of the data; of a reply,
	// that of the packet which it is about.
	bool framed;
	bool segments;  // a TCP segment to be cut before it is encapsulated or sent: segment.h
	uint16_t trace; // see lib/trace; 0: it is not traced
};

static_assert(sizeof(struct pkt) == 64, "one cache line");

#define RX_BURST_MAX 64  // packets received in one pass
#define BURST_MAX    512 // has room for the fragments of any packet: fragment.h

struct burst {
	uint16_t n;
	struct pkt *p[BURST_MAX];
};

// The Ethernet header that a packet in clear was received with; NULL: it is not known.
static inline const struct rte_ether_hdr *pkt_frame(const struct pkt *p)
{
	if (!p->framed || p->sa_in != NULL)
		return NULL;
	return rte_pktmbuf_mtod_offset(
		p->m, const struct rte_ether_hdr *, -(int)sizeof(struct rte_ether_hdr));
}

// Whether the packet is for the host behind a port.
static inline bool pkt_is_for_host(const struct pkt *p)
{
	return p->nexthop != NULL && p->nexthop->kind == NEXTHOP_LOCAL &&
	       iface_is_host(p->nexthop->iface);
}

// Whether the packet is addressed to the gateway, or for the host.
static inline bool pkt_is_local(const struct pkt *p)
{
	return p->nexthop != NULL && p->nexthop->kind == NEXTHOP_LOCAL;
}

// Whether its route leads into a tunnel.
static inline bool pkt_goes_into_tunnel(const struct pkt *p)
{
	return p->nexthop != NULL && p->nexthop->kind == NEXTHOP_TUNNEL;
}

// Whether no buffer holds the datagram: it is in several, and can only be forwarded.
static inline bool pkt_is_oversized(const struct pkt *p)
{
	return unlikely(p->m->nb_segs > 1) && !p->segments;
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
	return ip_src(pkt_ip(p), p->ip.v4);
}

static inline struct ip_addr pkt_dst(const struct pkt *p)
{
	return ip_dst(pkt_ip(p), p->ip.v4);
}

static inline struct ip_view pkt_view(const struct pkt *p)
{
	return ip_view_of(pkt_ip(p), &p->ip);
}

// Of ESP.
static inline bool pkt_has_esp(const struct pkt *p)
{
	return rte_pktmbuf_data_len(p->m) >= p->esp_off + sizeof(struct rte_esp_hdr);
}

// If pkt_has_esp().
static inline const struct rte_esp_hdr *pkt_esp(const struct pkt *p)
{
	return rte_pktmbuf_mtod_offset(p->m, const struct rte_esp_hdr *, p->esp_off);
}
