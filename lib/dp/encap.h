// SPDX-License-Identifier: BSD-3-Clause
// The stage for packets that a tunnel protects (RFC 4303 3.3): TTL, size, sequence number, framing,
// encryption, output. Workers.
#pragma once

#include "fanout.h"

// Processes the packets of w->protect, and empties it: they go to ports, or to the workers that
// number them.
void encap_burst(struct worker *w);

// Allocates the numbers of packets that were handed over for that, and puts them into the lane.
// Returns how many.
uint16_t encap_number(struct worker *w);

// Seals a burst of another worker's lane, whose frames stay in b for that worker to send.
void encap_seal(struct worker *w, struct fan_burst *b);

// The same for the oldest burst of the own lane, whose ESP packets may have to be fragmented: gives
// the frames to ports.
void encap_seal_large(struct worker *w, struct fan_burst *b);

// Gives the frames of the oldest burst, which was sealed, to ports.
void encap_send(struct worker *w, struct fan_burst *b);
