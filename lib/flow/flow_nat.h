// SPDX-License-Identifier: BSD-3-Clause
// A flow whose packets are translated has two keys: one of packets as the end that began sends
// them, and one of replies as they come back. Each is in the table, in a slot of its own, so that
// no two flows have the same ends after translation: ports are in use as long as their slot is.
// The ends of a packet after translation are those of the other key, reversed.
//
// Written by the worker that inserts the flow, before it is visible; constant from then on.
#pragma once

#include "flow_pkt.h"
#include "ip_translate.h"

struct flow_nat {
	struct flow_key key; // of replies
	uint32_t hash;       // of the key
	uint16_t rule[2];    // numbers of the rules that translate destination and source; 0: none
	uint8_t sender;      // the end of the key that sends the replies
	bool logged;         // begin and end are recorded: flow_binding.h
	bool of_port;        // as below
	uint8_t first;       // the direction of packets of the first key, whichever end began last
	uint32_t binding;    // its number: flow_binding.h
	uint64_t towards;    // as below
} __rte_cache_aligned;

static_assert(sizeof(struct flow_nat) == 64, "one cache line");

// The ends after translation of packets from the end that began.
struct flow_translation {
	struct ip_ends to;
	uint16_t rule[2];
	bool logged;         // a rule wants it
	bool of_port;        // the source is the address of the port that packets leave by
	uint32_t hash;       // of the key of replies; 0: it is not known yet
	uint64_t towards;    // of flow_towards(); 0: its port counts nowhere
	uint32_t per_source; // ports towards it that the source may have; 0: any number
	uint32_t per_peer;   // the same of the holder
};

// Whether its source has a port that a rule for sources chose. Those of a rule for destinations
// keep their source, and another port of it is chosen only if theirs is in use.
static inline bool flow_nat_has_port(const struct flow_nat *nat)
{
	return nat->towards != 0 && nat->rule[1] != 0;
}

// The ends of packets of a key that one end of it sends.
static inline struct ip_ends flow_key_ends(const struct flow_key *key, unsigned int from)
{
	return (struct ip_ends){
		key->addr[from], key->addr[!from], key->port[from], key->port[!from]};
}
