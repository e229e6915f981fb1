// SPDX-License-Identifier: BSD-3-Clause
// The lookup of link addresses, inline: with many neighbours every packet needs another one.
// Workers, and the control thread with hints of its own.
#pragma once

#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_prefetch.h>

#include "neigh_entry.h"

#define NEIGH_HINTS_SPREAD 0x9e37 // by port: networks of two ports may end alike

static __rte_always_inline uint32_t neigh_hint_of(uint16_t port, const struct ip_addr *addr)
{
	return (rte_be_to_cpu_32(addr->w[3]) + port * NEIGH_HINTS_SPREAD) & (NEIGH_HINTS - 1);
}

// Starts the lookup of an address: prefetches its entry. Returns the start for neigh_lookup().
static __rte_always_inline uint32_t neigh_lookup_start(const struct neigh_table *t,
	const struct neigh_hints *h, uint16_t port, const struct ip_addr *addr)
{
	uint32_t position = h->position[neigh_hint_of(port, addr)];

	rte_prefetch0(&t->entry[position]);
	return position;
}

// Whether it is the entry of an address: returns its link word, or 0 if not. A worker may ask this
// of any entry at any time, as key and link never belong to two addresses.
static __rte_always_inline uint64_t neigh_link_of(
	const struct neigh *n, uint16_t port, const struct ip_addr *addr)
{
	uint64_t link = atomic_load_explicit(&n->link, memory_order_acquire);
	uint64_t differ = (atomic_load_explicit(&n->key[0], memory_order_relaxed) ^ addr->q[0]) |
			  (atomic_load_explicit(&n->key[1], memory_order_relaxed) ^ addr->q[1]) |
			  (atomic_load_explicit(&n->key[2], memory_order_relaxed) ^ port);

	atomic_thread_fence(memory_order_acquire);
	if (differ != 0 || atomic_load_explicit(&n->link, memory_order_relaxed) != link)
		return 0;
	return link;
}

// For neigh_lookup() alone: the entry that the table has for the address, whose position becomes
// its hint, or NULL.
struct neigh *neigh_search(const struct neigh_table *t, struct neigh_hints *h, uint16_t port,
	const struct ip_addr *addr);

// Reads the link address of an address into *mac if it is NEIGH_KNOWN, and notes the use.
static __rte_always_inline enum neigh_answer neigh_lookup(const struct neigh_table *t,
	struct neigh_hints *h, uint32_t start, uint16_t port, const struct ip_addr *addr,
	struct rte_ether_addr *mac)
{
	struct neigh *n = &t->entry[start];
	uint64_t link = neigh_link_of(n, port, addr);

	if (unlikely(link == 0)) {
		n = neigh_search(t, h, port, addr);
		if (n == NULL)
			return NEIGH_WAIT;
		link = atomic_load_explicit(&n->link, memory_order_relaxed);
	}
	// Written once in a while, not for every packet: the line stays shared.
	if (unlikely(!atomic_load_explicit(&n->used, memory_order_relaxed)))
		atomic_store_explicit(&n->used, true, memory_order_relaxed);
	if (likely((link & LINK_KNOWN) != 0)) {
		memcpy(mac, &link, sizeof(*mac));
		return NEIGH_KNOWN;
	}
	return (link & LINK_FAILED) != 0 ? NEIGH_UNREACHABLE : NEIGH_WAIT;
}
