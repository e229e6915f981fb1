// SPDX-License-Identifier: BSD-3-Clause
// Rewriting of the ends of packets, with their checksums (RFC 1624), for network address
// translation (RFC 3022; of errors RFC 5508). Workers; pure functions on packet memory.
#pragma once

#include "ip_layout.h"

// The ends of a packet.
struct ip_ends {
	struct ip_addr src, dst;
	rte_be16_t src_port, dst_port; // of TCP and UDP; of an ICMP query the identifier, twice
};

// Rewrites a whole packet, and its layout. Of other protocols than TCP, UDP and ICMP queries the
// addresses alone change. A UDP packet without a checksum stays without.
void ip_translate(void *ip, struct ip_layout *at, const struct ip_ends *to);

// Rewrites an ICMP error: the packet that it quotes, as flow_pkt_read() accepts it, gets these
// ends; the error, from src, goes to the source of that packet.
void ip_translate_error(void *ip, const struct ip_layout *at, const struct ip_addr *src,
	const struct ip_ends *quoted);
