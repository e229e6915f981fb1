// SPDX-License-Identifier: BSD-3-Clause
#include "neigh_lookup.h"

bool neigh_has(const struct neigh_table *t, uint16_t port, const struct ip_addr *addr)
{
	return entry_find(t, port, addr) != NULL;
}

struct neigh *neigh_search(const struct neigh_table *t, struct neigh_hints *h, uint16_t port,
	const struct ip_addr *addr)
{
	struct neigh *n = entry_find(t, port, addr);

	if (n != NULL)
		h->position[neigh_hint_of(port, addr)] = (uint32_t)(n - t->entry);
	return n;
}
