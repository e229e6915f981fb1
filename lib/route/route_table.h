// SPDX-License-Identifier: BSD-3-Clause
// The inside of a route table, and the index of its routes by prefix. Private to lib/route.
#pragma once

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "hop_group.h"
#include "keyed_hash.h"
#include "route.h"
#include "trie.h"

#ifndef ROUTES_MAX
#define ROUTES_MAX (3u << 19)
#define NODES_MAX  (1u << 21) // of a family, so that one does not take those of the other
#endif
// Numbers of entries, of which some have been removed and are not free yet.
#define ENTRIES_MAX (ROUTES_MAX / 3 * 4 - 2)
#define KEPT(max)   ((max) / 8) // of them for routes of the configuration

enum { V4, V6, FAMILIES };

enum entry_state {
	ENTRY_PLANNED, // no look-up of a packet finds it
	ENTRY_ACTIVE,
	ENTRY_LEAVING, // active, until the plan is executed
	ENTRY_REMOVED,
};

struct entry {
	struct route route;
	_Atomic uint8_t remembered; // written by workers
	// Of the control thread:
	uint8_t state;  // an enum entry_state
	bool skipped;   // packets go by others
	uint32_t next;  // number of the next one in its bucket
	uint32_t place; // in the list, of one that is active
};

static_assert(sizeof(struct entry) == ROUTE_SIZE, "readers know it");

// Routes of one source, an own address.
struct route_source {
	struct route_source *_Atomic next;
	struct ip_addr addr;
	_Atomic uint32_t root[FAMILIES]; // of the tries: one slot each
	struct trie trie[FAMILIES];
	unsigned int n;               // entries; of the control thread
	struct route_source *removed; // the next one that is to be freed
};

// Removed routes or nodes that readers may remember.
struct limbo {
	uint32_t chain, n;
};

struct route_table {
	struct route_slots slots;
	struct trie trie[FAMILIES]; // of routes without a source
	struct trie_nodes nodes[FAMILIES];
	struct slab entries; // struct entry by number
	struct route_source *_Atomic sources;
	_Atomic uint64_t changes; // that have begun
	// The rest is of the control thread.
	struct route_source *removed_sources;
	void *memory; // of roots and nodes
	// By place / TRIE_FANOUT: whether a slot of the node is remembered. Written by workers.
	_Atomic uint8_t *remembered;
	struct limbo limbo_routes, limbo_nodes[FAMILIES];
	struct hop_groups groups;
	struct hash_key key;
	uint32_t *bucket; // number of the first entry in it
	unsigned int n_buckets;
	unsigned int n_indexed;           // entries in buckets
	uint32_t n_of_len[FAMILIES][129]; // these by length of the prefix
	uint32_t *listed;                 // numbers of all routes that are active
	unsigned int n;
	route_watch *watch;
	void *watch_arg;
	// Numbers of the entries of the configuration, and of the next one that is planned; 0:
	// none.
	uint32_t *configured, *planned;
	unsigned int n_configured, n_planned;
};

static inline unsigned int route_family(const struct ip_addr *a)
{
	return ip_addr_is_v4(a) ? V4 : V6;
}

static inline uint8_t route_first_bit(unsigned int family)
{
	return family == V4 ? IP_V4_BITS : 0;
}

// Whether the node is remembered.
static inline _Atomic uint8_t *route_node_mark(
	const struct route_table *t, const struct slab *nodes, uint32_t number)
{
	return &t->remembered[(nodes->memory - (uint8_t *)t->memory) / sizeof(struct trie_node) +
			      number];
}

static inline struct entry *route_entry(const struct route_table *t, uint32_t number)
{
	return (struct entry *)t->entries.memory + number; // slab_at() of a constant size
}

// Frees a chain of removed ones.
void route_sources_free(struct route_source *s);

struct route_source *route_source_find(const struct route_table *t, const struct ip_addr *addr);

// Adds an entry to the index, or removes it.
void route_index_add(struct route_table *t, uint32_t number);
void route_index_remove(struct route_table *t, uint32_t number);

// The newest entry with the prefix, source and owner; 0: none.
uint32_t route_index_find(const struct route_table *t, const struct ip_prefix *to,
	const struct ip_addr *from, enum route_owner owner);

// The entry of the first owner with the prefix and source that is active and not skipped, or with
// planned the one that will be; 0: none.
uint32_t route_index_best(const struct route_table *t, const struct ip_prefix *to,
	const struct ip_addr *from, bool planned);

// The active entry that packets go by with the longest other prefix that contains one, of routes
// with the same source; 0: none does.
uint32_t route_index_cover(const struct route_table *t, const struct route *r);
