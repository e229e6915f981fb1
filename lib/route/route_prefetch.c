// SPDX-License-Identifier: BSD-3-Clause
#include <assert.h>

#include <rte_branch_prediction.h>
#include <rte_prefetch.h>

#include "route_table.h"

// Where the look-up of an address is.
struct walk {
	const struct trie_nodes *nodes;
	const _Atomic uint32_t *slot; // that it reads next
	const uint8_t *octet;         // of the address, for the node after it
};

static struct walk walk_begin(const struct route_table *t, const struct ip_addr *addr)
{
	const unsigned int f = route_family(addr);
	const uint8_t *octet = addr->b + route_first_bit(f) / 8;

	return (struct walk){
		&t->nodes[f], &t->trie[f].root[(uint32_t)octet[0] << 8 | octet[1]], octet + 2};
}

static_assert(TRIE_ROOT_BITS == 16 && TRIE_STRIDE == 8, "octets choose slots");

void route_prefetch(const struct route_table *t, const struct ip_addr *const addr[], unsigned int n)
{
	struct walk walk[ROUTE_PREFETCH_MAX];

	for (unsigned int i = 0; i < n; i++) {
		walk[i] = walk_begin(t, addr[i]);
		rte_prefetch0((const void *)walk[i].slot);
	}
	for (unsigned int left = n; left > 0; n = left) {
		left = 0;
		for (unsigned int i = 0; i < n; i++) {
			struct walk w = walk[i];
			uint32_t at = atomic_load_explicit(w.slot, memory_order_acquire);

			if ((at & TRIE_NODE) == 0) {
				rte_prefetch0(&route_entry(t, at)->route.nexthop);
				continue;
			}
			w.slot = trie_slot_at(w.nodes, at, *w.octet++);
			rte_prefetch0((const void *)w.slot);
			walk[left++] = w;
		}
	}
}
