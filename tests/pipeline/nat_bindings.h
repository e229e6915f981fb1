// SPDX-License-Identifier: BSD-3-Clause
// A plain list of bindings, which predicts how packets are translated. Written without the code
// under test.
#pragma once

#include "site_nat.h"

#define BINDINGS 512
#define PORTS    8 // of a rule

// Rules, and the properties that the model needs.
struct nat_rules {
	const char *text;
	uint16_t first; // of PORTS; 0: no rule for sources
	bool in_order, netmap, forwards;
	unsigned int per_source, per_peer;
};

struct binding {
	bool alive;
	uint8_t proto, stage; // of a handshake: 1, answered; 2, complete
	uint16_t in;          // where it began
	bool counted;         // towards limits
	struct ends from, to; // of packets of the end that began
	uint64_t seen;        // in microseconds
};

extern const struct nat_rules *rules_now; // the rules in force
extern struct binding binding[BINDINGS];

bool ends_equal(const struct ends *a, const struct ends *b);

// Of a reply to a packet with these ends.
struct ends ends_reversed(const struct binding *b, const struct ends *e);

// The binding with these ends before translation, and these after it; NULL: any.
struct binding *binding_find(uint8_t proto, const struct ends *from, const struct ends *to);

// One that is not alive.
struct binding *binding_slot(void);

unsigned int bindings_alive(void);

// Ports towards the destination of the packet that a source has; NULL: that all have.
unsigned int bindings_of(uint8_t proto, const struct ends *from, const char *source);

bool port_is_free(uint8_t proto, const struct ends *from, uint16_t port);
bool port_is_of_rule(uint16_t port);

// The port that the first packet has to get; 0: any free one of the rule; *none: it gets none.
uint16_t port_expected(uint8_t proto, const struct ends *from, bool *none);
