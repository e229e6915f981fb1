// SPDX-License-Identifier: BSD-3-Clause
// The table and its entries, as the control thread's part (neigh_table.c) and the workers' part
// (neigh_lookup.h) see them. For these alone.
#pragma once

#include <assert.h>

#include <rte_hash.h>

#include "keyed_hash.h"
#include "neigh.h"

#define KEY_WORDS 3

struct key {
	union {
		struct {
			struct ip_addr addr;
			uint64_t port;
		};
		uint64_t word[KEY_WORDS];
	};
};

static_assert(sizeof(struct key) == KEY_WORDS * sizeof(uint64_t), "hashed as octets: no padding");

// The word that workers read: the link address in its low 48 bits, above it flags.
#define LINK_KNOWN  ((uint64_t)1 << 48)
#define LINK_FAILED ((uint64_t)1 << 49)

struct neigh {
	// Written by control, read by workers. The key changes only while the link word is 0.
	_Atomic uint64_t link;
	_Atomic uint64_t key[KEY_WORDS];
	atomic_bool used; // set by workers, cleared by control
	bool present;     // from here on control only
	bool wanted;      // workers have had packets for it
	uint8_t tries;
	enum neigh_state state;
	uint32_t holder;   // of the last packet that needed the entry
	uint64_t since;    // entered the state
	uint64_t answered; // time of the last answer
	uint64_t last_use;
	uint64_t next_try;
} __rte_cache_aligned;

// Tokens limited by NEIGH_REQUESTS_MAX: for entries and requests for packets to send, and entries
// learnt from packets of any station, which must not use up the former.
enum neigh_cause { CAUSE_RESOLVE, CAUSE_LEARN, CAUSES };

struct neigh_bucket {
	uint64_t tokens; // in 1/1000
	uint64_t time;   // when they were counted, in ms
};

#define NEIGH_HOLDERS 1024 // of a port, by a keyed hash

// Control thread only.
struct neigh_port {
	uint32_t used; // entries present
	struct neigh_bucket bucket[CAUSES];
	struct neigh_bucket had[NEIGH_HOLDERS]; // tokens of CAUSE_RESOLVE, which are forgotten
};

struct neigh_table {
	struct neigh_params p;
	struct rte_hash *hash; // always with hash_of()
	struct hash_key hash_key;
	uint32_t slots;
	unsigned int listed;   // entries that the last list has looked at, or before it
	uint32_t listed_slots; // where it ended
	uint32_t used;         // entries present
	struct neigh_port port[NEIGH_PORTS_MAX];
	struct neigh *entry; // indexed by the position that the hash gives
};

static inline struct key key_of(uint16_t port, const struct ip_addr *addr)
{
	return (struct key){.addr = *addr, .port = port};
}

static inline uint32_t hash_of(const struct neigh_table *t, const struct key *key)
{
	return (uint32_t)keyed_hash(&t->hash_key, key->word, KEY_WORDS);
}

static inline struct neigh *entry_find(
	const struct neigh_table *t, uint16_t port, const struct ip_addr *addr)
{
	struct key key = key_of(port, addr);
	int32_t pos = rte_hash_lookup_with_hash(t->hash, &key, hash_of(t, &key));

	return pos < 0 ? NULL : &t->entry[pos];
}
