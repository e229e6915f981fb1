// SPDX-License-Identifier: BSD-3-Clause
// A datagram of up to 65535 octets: cut into fragments, and put together again from what gateways
// send, without the code under test.
#pragma once

#include "peer.h"

// What an IP packet carries.
struct datagram {
	uint32_t len;
	uint8_t b[65536 + 64]; // some more than a packet may have
};

extern struct datagram whole, arrived;

// Makes the whole UDP of so many octets to a port, of which nothing has arrived.
void datagram_fill(uint32_t len, uint16_t dport);

// The whole's octets from off on, len or what there is, as a fragment with this header.
struct frame piece(uint16_t port, struct ipv4 ip, uint32_t off, uint32_t len);

// All of it in fragments that bring step octets each; returns how many.
unsigned int pieces(struct frame f[], uint16_t port, struct ipv4 ip, uint32_t step);

void shuffle(struct frame f[], unsigned int n, uint64_t *seed);

// A fragment as the peer of a tunnel seals it.
struct frame sealed(const struct peer *peer, uint32_t seq, const struct frame *f);

// A fragment of either family, or a whole packet, has arrived.
void collect(const uint8_t *packet, uint16_t len);

// The same of what the last pass sent, opened if there is a peer,.
void collect_all(const struct gateway *g, const struct peer *peer);

// All of it has arrived.
void expect_whole(void);
