// SPDX-License-Identifier: BSD-3-Clause
// Cutting of a TCP segment that its sender has left to a network card, because it is larger than
// the MTU (TSO). Each part is a copy of the headers and a piece of the payload. Workers; pure
// functions on packet memory.
#pragma once

#include "ip_layout.h"

// Octets of the IP and TCP headers of a checked packet, with which each part begins. 0: the packet
// cannot be cut. It is a fragment or not of TCP, its TCP header is truncated, it has no payload, or
// it opens or resets a connection.
uint16_t tcp_segment_headers(const void *ip, const struct ip_layout *at);

// Sum, in the order of octets in memory, of the fields that are the same in all parts: of the
// pseudo header and of the TCP header.
uint32_t tcp_segment_sum(const void *ip, const struct ip_layout *at, uint16_t headers);

struct tcp_part {
	uint32_t len;    // octets of the IP packet
	uint32_t off;    // octets of the payload in the parts before this one
	uint32_t number; // of these parts
	uint32_t sum;    // tcp_segment_sum() and that of the payload of this part
	bool last;
};

// Completes a part: ip has a copy of the packet's headers, followed by the part's payload, which is
// not read. Lengths, the identification of IPv4, the sequence number, flags and checksums become
// those of the part.
void tcp_segment_finish(void *ip, const struct ip_layout *at, const struct tcp_part *part);
