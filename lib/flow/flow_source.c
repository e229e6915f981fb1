// SPDX-License-Identifier: BSD-3-Clause
#include "flow_source.h"

#include "dpdk_compat.h"

uint32_t flow_sources_cells(uint32_t capacity)
{
	return rte_align32pow2(RTE_MAX(capacity, 1024u));
}

struct flow_source_cells flow_source_cells(const struct flow_sources *s, const struct ip_addr *addr)
{
	const uint64_t h = keyed_hash(&s->hash_key, addr->q, 2);
	_Atomic uint32_t *second_row = s->cell + s->mask + 1;

	return (struct flow_source_cells){{&s->cell[h & s->mask], &second_row[h >> 32 & s->mask]}};
}

// The smaller count of the two cells: at least the true one.
uint32_t flow_source_cells_count(struct flow_source_cells c)
{
	const uint32_t a = atomic_load_explicit(c.cell[0], memory_order_relaxed);
	const uint32_t b = atomic_load_explicit(c.cell[1], memory_order_relaxed);

	return a < b ? a : b;
}

void flow_source_cells_prefetch(struct flow_source_cells c)
{
	__builtin_prefetch(c.cell[0], 1);
	__builtin_prefetch(c.cell[1], 1);
}

void flow_source_cells_add(struct flow_source_cells c)
{
	atomic_fetch_add_explicit(c.cell[0], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(c.cell[1], 1, memory_order_relaxed);
}

void flow_source_cells_subtract(struct flow_source_cells c)
{
	atomic_fetch_sub_explicit(c.cell[0], 1, memory_order_relaxed);
	atomic_fetch_sub_explicit(c.cell[1], 1, memory_order_relaxed);
}
