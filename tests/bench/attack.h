// SPDX-License-Identifier: BSD-3-Clause
// The packets that a single gateway receives: legitimate ones, and those of attacks. All are
// received from port WAN. They are made while the clock is stopped.
#pragma once

#include "packet.h"
#include "attack_gateway.h"

// Seals the packets of a peer for the gateway.
struct sealer {
	enum peer peer;
	struct crypto_session *session;
	uint32_t seq; // last number used
};

// Ends the program if memory is exhausted.
struct sealer sealer_new(enum peer peer);
void sealer_free(struct sealer *s);

// Destination port of legitimate packets only.
#define LEGIT_PORT 4501

// The i-th legitimate packet: UDP in an inner packet of 64 octets, of 1000 flows in turn.
struct frame legit_packet(struct sealer *s, uint32_t i);

enum origin {
	OUTSIDE, // anyone who can send to the gateway
	PEER,    // peer M, who has a tunnel
};

struct attack {
	const char *kind;
	enum origin origin;
	bool limited;     // a rate limits the response of the gateway
	bool makes_flows; // and fills the flow table
	// The i-th packet; of a peer the inner packet. legit seals legitimate packets.
	struct frame (*packet)(uint32_t i, const struct sealer *legit);
	uint8_t next_header; // next header of a peer's packets; 0: by the version of the inner
			     // packet
};

extern const struct attack attacks[];
extern const unsigned int n_attacks;

// The i-th packet of an attack as it is received. mallory seals the packets of peer M.
struct frame attack_packet(
	const struct attack *a, uint32_t i, const struct sealer *legit, struct sealer *mallory);

// Per cent of its rate that legitimate traffic should keep: docs/performance.md.
unsigned int attack_goal(const struct attack *a);
