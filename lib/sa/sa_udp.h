// SPDX-License-Identifier: BSD-3-Clause
// Outbound SAs in UDP over IPv4 by the addresses and ports of their packets: all that an ICMP error
// shows of one whose quote ends after the UDP header (RFC 792). Workers read it; the control thread
// fills it before they do, and replaces it as a whole when a peer moves.
#pragma once

#include "sa.h"

// As in the packet, from the source address of the IP header on. Network byte order.
struct sa_udp_ends {
	rte_be32_t src, dst;
	rte_be16_t src_port, dst_port;
};

struct sa_udp_entry {
	struct sa_udp_ends ends;
	struct sa_out *_Atomic sa; // NULL: it was removed
};

struct sa_udp_index {
	unsigned int n;
	struct sa_udp_entry of[]; // in order of ends
};

// An empty index with room for n SAs, to be freed with line_free(). NULL with errno ENOMEM. Any
// thread.
struct sa_udp_index *sa_udp_index_new(unsigned int n);

// Fills an empty one with those of the n SAs that are in UDP over IPv4 and whose peer is known. The
// caller keeps ownership of the SAs. Control thread.
void sa_udp_index_fill(struct sa_udp_index *index, struct sa_out *const sas[], unsigned int n);

// Removes an SA that is to be freed. Control thread; workers may have found it just before.
void sa_udp_forget(struct sa_udp_index *index, const struct sa_out *sa);

// An SA with these ends, one that has not been stopped if there is one; or NULL. Any thread.
struct sa_out *sa_udp_find(const struct sa_udp_index *index, const struct sa_udp_ends *ends);
