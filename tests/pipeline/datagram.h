// SPDX-License-Identifier: BSD-3-Clause
// A datagram of up to 65535 octets: fragmented, and reassembled from the packets that gateways
// send, without the code under test.
#pragma once

#include "peer.h"

// The payload of an IP packet.
struct datagram {
	uint32_t len;
	uint8_t b[65536 + 64]; // some more than a packet may have
};

extern struct datagram whole, arrived;

// Makes a UDP datagram of len octets to a port, of which nothing has been received.
void datagram_fill(uint32_t len, uint16_t dport);

// The octets of the datagram from off on, len or the rest, as a fragment with this header.
struct frame piece(uint16_t port, struct ipv4 ip, uint32_t off, uint32_t len);

// All of it in fragments of step octets of payload each; returns their number.
unsigned int pieces(struct frame f[], uint16_t port, struct ipv4 ip, uint32_t step);

// A fragment as the peer of a tunnel seals it.
struct frame sealed(const struct peer *peer, uint32_t seq, const struct frame *f);

// Records a received fragment of either family, or a whole packet.
void collect(const uint8_t *packet, uint16_t len);

// The same for the packets that the last pass sent, opened if there is a peer.
void collect_all(const struct gateway *g, const struct peer *peer);

// All of it has been received.
void expect_complete(void);
