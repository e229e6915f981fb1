// SPDX-License-Identifier: BSD-3-Clause
// A trie of prefixes that changes under its readers: a look-up goes through one slot of a node for
// 16 bits of the address, and then for each further 8 of them. A slot has the number of a node, or
// that of the route with the longest prefix that covers all addresses of the slot. So a change
// stores into each slot that it concerns, once, and a look-up finds the table before or after it:
// there is nothing that it would have to combine.
//
// A change costs a store for each slot of its prefix, and looks at all nodes below it: that of a
// default route, at every node there is.
//
// The control thread changes a trie; workers read it without a lock. Nodes that leave it are freed
// after a grace period (slab.h). Meanwhile their slots show that they have left: a look-up that is
// in one begins again, and a reader that remembers a slot notices.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include <rte_common.h>

#include "addr.h"
#include "slab.h"

#ifndef TRIE_STRIDE
#define TRIE_STRIDE    8  // bits of the address that a node is for
#define TRIE_ROOT_BITS 16 // of the address that the first node of a large trie is for
#endif
#define TRIE_FANOUT (1u << TRIE_STRIDE)
#define TRIE_NODE   (1u << 31)      // in a slot: the number of a node
#define TRIE_GONE   (TRIE_NODE - 1) // in all slots of a node that has left

struct trie_node {
	_Atomic uint32_t slot[TRIE_FANOUT];
};

// All nodes but the first, of any number of tries.
struct trie_nodes {
	struct slab slab;
	uint16_t *users; // by number: prefixes and nodes that need it; of the control thread
};

struct trie {
	_Atomic uint32_t *root; // slots of the first node, 1 << root_bits
	uint8_t first_bit;      // of the address: bits before it are the same in all prefixes
	uint8_t root_bits;      // TRIE_ROOT_BITS, or 0: a small trie
};

// memory: for nodes 0 to max, of the caller. Returns 0 or -ENOMEM, after which trie_nodes_fini() is
// allowed.
int trie_nodes_init(struct trie_nodes *nodes, void *memory, uint32_t max);
void trie_nodes_fini(struct trie_nodes *nodes);

// Adds the nodes that a prefix needs, and keeps them for it: no look-up has another result. Returns
// 0, or -ENOSPC with no change: fewer than left would be unused then.
int trie_hold(struct trie *t, struct trie_nodes *nodes, const struct ip_prefix *to, uint32_t left);

// Puts a number, from 0 to TRIE_NODE - 1, in the place of another one where no longer prefix is, of
// a prefix that is held: a number of the prefix in that of the longest other prefix that contains
// it (0: none does), or in that of its own former one, or the number of the other prefix in the
// place of its own.
void trie_change(struct trie *t, struct trie_nodes *nodes, const struct ip_prefix *to, uint32_t old,
	uint32_t number);

// Ends one trie_hold() of a prefix. Then none of its numbers is in the trie, unless it is held
// otherwise.
void trie_drop(struct trie *t, struct trie_nodes *nodes, const struct ip_prefix *to);

static __rte_always_inline const _Atomic uint32_t *trie_slot_at(
	const struct trie_nodes *nodes, uint32_t node, uint32_t i)
{
	// Not slab_at(): a constant size needs no multiplication.
	const struct trie_node *n = (const struct trie_node *)nodes->slab.memory;

	return &n[node & ~TRIE_NODE].slot[i];
}

// The number of the longest prefix with an address of IPv4, in host byte order; 0: none. *slot: the
// one that it is in. root_bits: those of the trie. Any thread.
static __rte_always_inline uint32_t trie_find_v4(const struct trie *t,
	const struct trie_nodes *nodes, uint32_t addr, const unsigned int root_bits,
	const _Atomic uint32_t **slot)
{
	uint32_t at;

	do {
		unsigned int left = 32 - root_bits;

		*slot = &t->root[(uint64_t)addr >> left];
		at = atomic_load_explicit(*slot, memory_order_acquire);
		while ((at & TRIE_NODE) != 0) {
			left -= TRIE_STRIDE;
			*slot = trie_slot_at(nodes, at, addr >> left & (TRIE_FANOUT - 1));
			at = atomic_load_explicit(*slot, memory_order_acquire);
		}
	} while (at == TRIE_GONE);
	return at;
}

// The same for IPv6.
static __rte_always_inline uint32_t trie_find_v6(const struct trie *t,
	const struct trie_nodes *nodes, const struct ip_addr *addr, const unsigned int root_bits,
	const _Atomic uint32_t **slot)
{
	uint32_t at;

	do {
		const uint8_t *octet = addr->b + root_bits / 8;
		uint32_t first = root_bits == 0 ? 0 : (uint32_t)addr->b[0] << 8 | addr->b[1];

		*slot = &t->root[first];
		at = atomic_load_explicit(*slot, memory_order_acquire);
		while ((at & TRIE_NODE) != 0) {
			*slot = trie_slot_at(nodes, at, *octet++);
			at = atomic_load_explicit(*slot, memory_order_acquire);
		}
	} while (at == TRIE_GONE);
	return at;
}
