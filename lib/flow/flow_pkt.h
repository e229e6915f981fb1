// SPDX-License-Identifier: BSD-3-Clause
// What the flow table and connection tracking need to know of a packet, taken from its headers
// once. Workers; pure functions on packet memory.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>
#include <rte_ip.h>

#include "addr.h"
#include "drop.h"
#include "ip_layout.h"

#define FLOW_KEY_WORDS 5

// Names a flow, the same in both directions: the end that is lower in memory order comes first.
// The ingress port is not part of it: the two directions have different ones. Every packet's
// ingress is compared with that of its flow.
struct flow_key {
	union {
		struct {
			struct ip_addr addr[2];
			// Of TCP, UDP, UDP-Lite, SCTP and DCCP; the identifier of an ICMP query,
			// of either family, twice; 0 for all else.
			rte_be16_t port[2];
			uint8_t proto;
			uint8_t icmp_type; // of a reply that of its request
			uint8_t asker;     // ICMP queries: 1 + the end that asks
			uint8_t icmp_code; // of all ICMP
		};
		uint64_t q[FLOW_KEY_WORDS];
	};
};

static_assert(sizeof(struct flow_key) == 40, "hashed and compared as whole words");

#define FLOW_NO_SCALE 0xff

struct flow_pkt {
	struct flow_key key;
	uint32_t hash;       // of the key, by flow_lookup_start()
	uint32_t seq, ack;   // of TCP, here and below. Host byte order.
	uint16_t window;     // as sent, not scaled
	uint16_t seq_len;    // octets of sequence space: text, SYN and FIN
	uint16_t ip_len;     // octets of IP packet
	uint8_t tcp_flags;   // RTE_TCP_*_FLAG
	uint8_t scale;       // option of a SYN: 0 to 14 (RFC 7323 2.3), or FLOW_NO_SCALE
	uint8_t icmp_type;   // of the packet itself
	uint8_t dir;         // 0: from addr[0] to addr[1]; 1: the other way
	bool icmp_error : 1; // key and seq are those of the packet quoted, dir is the error's
	bool icmp_reply : 1; // answers a query
} __rte_cache_aligned;

static_assert(sizeof(struct flow_pkt) == 64, "one cache line");

static inline bool flow_key_equal(const struct flow_key *a, const struct flow_key *b)
{
	return ((a->q[0] ^ b->q[0]) | (a->q[1] ^ b->q[1]) | (a->q[2] ^ b->q[2]) |
		       (a->q[3] ^ b->q[3]) | (a->q[4] ^ b->q[4])) == 0;
}

// Reads a whole packet with the layout: header checked, contiguous, not a fragment. Returns
// DROP_NONE; DROP_CT_INVALID if its TCP, UDP or ICMP header is cut off or contradictory;
// DROP_ICMP_UNRELATED for an ICMP error that does not go to the sender of the packet that it
// quotes.
enum drop flow_pkt_read(struct flow_pkt *p, const void *ip, const struct ip_layout *at);
