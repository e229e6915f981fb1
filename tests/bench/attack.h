// SPDX-License-Identifier: BSD-3-Clause
// The packets that a single gateway gets: legitimate ones, and those of attacks. All come in by the
// port WAN. Made off the clock.
#pragma once

#include "packet.h"
#include "single_gateway.h"

// Seals what a peer sends to the gateway.
struct sealer {
	enum peer peer;
	struct crypto_session *session;
	uint32_t seq; // last number that was taken
};

// Ends the program without memory.
struct sealer sealer_new(enum peer peer);
void sealer_free(struct sealer *s);

// Destination port of legitimate packets and no others.
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
	bool limited;     // what the gateway does about it is limited by a rate
	bool makes_flows; // and fills the flow table
	// The i-th packet: of a peer the inner one. legit seals what is legitimate.
	struct frame (*packet)(uint32_t i, const struct sealer *legit);
	uint8_t next_header; // of a peer's; 0: as the inner packet's version wants it
};

extern const struct attack attacks[];
extern const unsigned int n_attacks;

// The i-th packet of an attack as it comes in. mallory seals what peer M sends.
struct frame attack_packet(
	const struct attack *a, uint32_t i, const struct sealer *legit, struct sealer *mallory);

// Per cent of its rate that legitimate traffic should keep: docs/performance.md.
unsigned int attack_goal(const struct attack *a);
