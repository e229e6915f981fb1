// SPDX-License-Identifier: BSD-3-Clause
#include <assert.h>
#include <stdbool.h>

#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include "route_table.h"

// Where the look-ups of addresses are.
struct walks {
	const _Atomic uint32_t *slot[ROUTE_FIND_MAX]; // that each reads next
	const uint8_t *octet[ROUTE_FIND_MAX];         // of the address, for the node after it
	const struct trie_nodes *nodes[ROUTE_FIND_MAX];
	uint8_t left[ROUTE_FIND_MAX]; // the numbers of the look-ups that go on
};

static_assert(TRIE_ROOT_BITS == 16 && TRIE_STRIDE == 8, "octets choose slots");

static void walk_begin(
	struct walks *w, unsigned int i, const struct route_table *t, const struct ip_addr *addr)
{
	const unsigned int f = route_family(addr);
	const uint8_t *octet = addr->b + route_first_bit(f) / 8;

	w->slot[i] = &t->trie[f].root[(uint32_t)octet[0] << 8 | octet[1]];
	w->octet[i] = octet + 2;
	w->nodes[i] = &t->nodes[f];
	rte_prefetch0((const void *)w->slot[i]);
}

// One step. Returns whether it was the last one: *at is the number of the route.
static __rte_always_inline bool walk_on(struct walks *w, unsigned int i,
	const struct route_table *t, const struct ip_addr *addr, uint32_t *at)
{
	*at = atomic_load_explicit(w->slot[i], memory_order_acquire);
	if (likely((*at & TRIE_NODE) != 0)) {
		w->slot[i] = trie_slot_at(w->nodes[i], *at, *w->octet[i]++);
		rte_prefetch0((const void *)w->slot[i]);
		return false;
	}
	if (unlikely(*at == TRIE_GONE))
		walk_begin(w, i, t, addr);
	return *at != TRIE_GONE;
}

void route_find_each(const struct route_table *t, const struct ip_addr addr[], unsigned int n,
	const struct nexthop *found[])
{
	struct walks w;

	for (unsigned int i = 0; i < n; i++) {
		w.left[i] = (uint8_t)i;
		walk_begin(&w, i, t, &addr[i]);
	}
	for (unsigned int left = n; left > 0; n = left) {
		left = 0;
		for (unsigned int k = 0; k < n; k++) {
			const unsigned int i = w.left[k];
			uint32_t at;

			if (!walk_on(&w, i, t, &addr[i], &at)) {
				w.left[left++] = (uint8_t)i;
				continue;
			}
			found[i] = at != 0 ? &route_entry(t, at)->route.nexthop : NULL;
			rte_prefetch0(found[i]);
		}
	}
}
