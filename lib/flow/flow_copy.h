// SPDX-License-Identifier: BSD-3-Clause
// A flow as the two gateways of a pair report it to each other: its ends, its state, and how it is
// translated. No decisions, which each makes by its own configuration, and no
// sequence numbers of TCP: they would be old when they arrive.
#pragma once

#include "flow.h"

// Of a flow's word. Of a copy, direction 0 is that of the end that began first.
#define FLOW_COPIED                                                                                \
	(FLOW_STATE_MASK | FLOW_INITIATOR | FLOW_REPLIED | FLOW_PICKED_UP | FLOW_RESET |           \
		FLOW_FIN(0) | FLOW_FIN(1) | FLOW_FIN_ACKED(0) | FLOW_FIN_ACKED(1))

struct flow_copy {
	// Of packets of the end that began first, as received and as sent. Ports of an ICMP query
	// are its identifier.
	struct ip_ends from, to;
	uint8_t proto;
	uint8_t icmp_type, icmp_code; // as in the key
	bool query;                   // of ICMP
	bool translated;
	uint16_t rule[2]; // numbers of rules, as in struct flow_nat
	uint32_t word;
	uint8_t scale[2]; // of TCP, here and below by direction
	uint32_t age_ms, idle_ms[2];
	// Of the gateway that adopts it.
	bool logged, of_port; // as in struct flow_nat
	bool chosen;          // its port counts as one that was chosen for the source
	uint32_t holder;
	uint32_t scan; // of flow_adopt()
};

// A word with the other direction as 0.
static inline uint32_t flow_word_turned(uint32_t word)
{
	const uint32_t of_0 = FLOW_SYN(0) | FLOW_ACK(0) | FLOW_FIN(0) | FLOW_FIN_ACKED(0);
	const uint32_t of_1 = of_0 << 1;

	return ((word & ~(of_0 | of_1)) | (word & of_0) << 1 | (word & of_1) >> 1) ^ FLOW_INITIATOR;
}
