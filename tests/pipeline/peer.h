// SPDX-License-Identifier: BSD-3-Clause
// The peer of one of a gateway's SAs: seals packets for the gateway and opens its packets, with any
// contents, also packets that no honest peer would send. Uses lib/crypto alone.
#pragma once

#include "harness.h"

struct peer {
	struct crypto_session *session;
	const struct conf_sa *sa; // the gateway's
	uint32_t upper;           // upper half of the sequence number, with ESN
};

// Finds the SA by the name of the gateway's SA.
struct peer peer_new(const struct gateway *g, const char *sa);
void peer_free(struct peer *p);

// An ESP packet for the gateway; fields that are 0 get the usual value.
struct esp {
	uint64_t seq;        // the packet carries the lower half
	const uint8_t *text; // the plaintext, trailer included
	uint16_t text_len;
	uint8_t tos;
	uint8_t options; // octets after the outer IP header; of IPv6 a multiple of 8
	const char *dst; // the SA's
	uint32_t spi;    // the SA's
};

// Appends padding, as much as the SA needs, pad length and next header to an inner packet of len
// octets; returns the length with them.
uint16_t peer_trailer(const struct peer *p, uint8_t *text, uint16_t len, uint8_t next_header);

// A frame to the gateway's port WAN.
struct frame peer_seal(const struct peer *p, struct esp esp);

// The same with this IP packet as the inner packet, of either version.
struct frame peer_seal_packet(
	const struct peer *p, uint64_t seq, const uint8_t *packet, uint16_t len);

// The same with an inner packet of the usual kind.
struct frame peer_seal_ip(const struct peer *p, uint64_t seq, struct ipv4 inner);

// The gateway forwards a packet with this number to port LAN, and drops it the second time.
void peer_expect_once(struct gateway *g, const char *sa, uint64_t seq);

// Opens an ESP packet that the gateway sent and checks all headers around the inner packet, which
// is copied to inner. Returns its length.
uint16_t peer_open(const struct peer *p, const struct frame *f, uint8_t *inner);

// The sequence number of an ESP packet that the gateway sent.
uint32_t esp_seq(const struct frame *f);
