// SPDX-License-Identifier: BSD-3-Clause
#include "neigh_entry.h"

#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

// Whether it is the entry of a key, and then what its link word says: 0 if not. A worker may ask
// this of any entry at any time, as key and link are never those of two addresses.
static uint64_t link_of(const struct neigh *n, const struct key *key)
{
	uint64_t link = atomic_load_explicit(&n->link, memory_order_acquire);
	uint64_t differ = 0;

	for (unsigned int i = 0; i < KEY_WORDS; i++)
		differ |= atomic_load_explicit(&n->key[i], memory_order_relaxed) ^ key->word[i];
	atomic_thread_fence(memory_order_acquire);
	if (differ != 0 || atomic_load_explicit(&n->link, memory_order_relaxed) != link)
		return 0;
	return link;
}

static uint32_t hint_of(const struct neigh_table *t, const struct key *key)
{
	return hash_of(t, key) & (NEIGH_HINTS - 1);
}

bool neigh_has(const struct neigh_table *t, uint16_t port, const struct ip_addr *addr)
{
	return entry_find(t, port, addr) != NULL;
}

uint32_t neigh_lookup_start(const struct neigh_table *t, const struct neigh_hints *h, uint16_t port,
	const struct ip_addr *addr)
{
	struct key key = key_of(port, addr);
	uint32_t position = h->position[hint_of(t, &key)];

	rte_prefetch0(&t->entry[position]);
	return position;
}

enum neigh_answer neigh_lookup(const struct neigh_table *t, struct neigh_hints *h, uint32_t start,
	uint16_t port, const struct ip_addr *addr, struct rte_ether_addr *mac)
{
	struct key key = key_of(port, addr);
	struct neigh *n = &t->entry[start];
	uint64_t link = link_of(n, &key);

	if (unlikely(link == 0)) {
		n = entry_find(t, port, addr);
		if (n == NULL)
			return NEIGH_WAIT;
		link = atomic_load_explicit(&n->link, memory_order_relaxed);
		h->position[hint_of(t, &key)] = (uint32_t)(n - t->entry);
	}
	// Written once in a while, not for every packet: the line stays shared.
	if (!atomic_load_explicit(&n->used, memory_order_relaxed))
		atomic_store_explicit(&n->used, true, memory_order_relaxed);
	if ((link & LINK_KNOWN) != 0) {
		memcpy(mac, &link, sizeof(*mac));
		return NEIGH_KNOWN;
	}
	return (link & LINK_FAILED) != 0 ? NEIGH_UNREACHABLE : NEIGH_WAIT;
}
