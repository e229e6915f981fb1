// SPDX-License-Identifier: BSD-3-Clause
// ESP in UDP (RFC 3948): distinguishes it from IKE and NAT-keepalives, and detects peers that
// moved. Workers.
#pragma once

#include <netinet/in.h>

#include <rte_udp.h>

#include "worker.h"

#define NATT_MARKER_LEN 4 // of IKE, zero where ESP has its SPI (RFC 3948 2.2)

// Whether UDP of len octets, for a port of ESP in UDP, is ESP as most is: the datagram ends where
// its packet does.
static inline bool natt_is_esp(const struct rte_udp_hdr *udp, uint32_t len)
{
	uint32_t spi;

	static_assert(sizeof(spi) == NATT_MARKER_LEN, "in the same place");
	if (unlikely(len < sizeof(*udp) + sizeof(spi)))
		return false;
	memcpy(&spi, udp + 1, sizeof(spi));
	return likely(rte_be_to_cpu_16(udp->dgram_len) == len) && likely(spi != 0);
}

// Notes that a packet is processed as ESP in UDP.
static inline void natt_note(struct worker *w, struct pkt *p)
{
	p->udp_port = p->ip.dst_port;
	w->n_udp++;
}

// Whether a UDP packet that was received in clear for a port of ESP in UDP is processed as ESP: it
// is not IKE. Notes that then. A packet for another host is recognized later, by its address.
bool natt_classify(struct worker *w, struct pkt *p);

// Whether a packet for a port of ESP in UDP is a NAT-keepalive for an SA.
bool natt_is_keepalive(const struct worker *w, const struct pkt *p);

// Whether a packet for an own address is IKE and is punted: then p->nexthop is the next hop to the
// IKE host, and the packet is forwarded. IKE is UDP to port 500 (RFC 7296 2.23), to 4500, or to a
// port of ESP in UDP with the non-ESP marker.
bool natt_is_ike(const struct worker *w, struct pkt *p, const struct flow_pkt *fp);

// The same for a packet for an own address that is an ICMP error about IKE. It was received in
// clear on an unprotected port and quotes a datagram of a flow, from the address that it is for.
// Anybody can forge it: no more are passed on than errors may be sent about packets of that port.
// The quote need not reach to the marker: then it may be about ESP in UDP as well.
bool natt_is_ike_error(struct worker *w, struct pkt *p);

// Whether a packet into the tunnel with this SA is IKE or ESP of this machine, of a host or from an
// address of a port, to the peer of the tunnel itself. Packets that keep a tunnel up must not
// depend on it. Without an SA or as long as its peer is not known, to any peer: it may be that.
bool natt_is_outer(const struct worker *w, const struct pkt *p, const struct sa_out *sa);

// Whether an authenticated packet, before it is opened, was sent from another endpoint of its peer
// than the known one. Fills an event about it.
bool natt_peer_moved(const struct pkt *p, struct event *e);

// Posts that event once the number of the packet was accepted, if it is the newest of the SA.
void natt_peer_post(struct worker *w, const struct sa_in *sa, uint64_t seq, struct event *e);

// Posts an event for each peer whose endpoint differs from the known one, of the packets of a run
// of one SA that were accepted, with their sequence numbers.
void natt_peers_check(struct worker *w, struct pkt *const p[], const uint64_t seq[],
	const bool accepted[], uint16_t n);

// Writes the checksums of UDP over IPv6 into encapsulated packets.
void natt_udp_checksum(const struct burst *b);
