// SPDX-License-Identifier: BSD-3-Clause
#include "flow_source.h"

#include "dpdk_compat.h"

struct pair {
	_Atomic uint32_t *cell[2];
};

static struct pair cells_of(const struct flow_sources *s, const struct ip_addr *addr)
{
	uint64_t h = keyed_hash(&s->hash_key, addr->q, 2);
	_Atomic uint32_t *second_row = s->cell + s->mask + 1;

	return (struct pair){{&s->cell[h & s->mask], &second_row[h >> 32 & s->mask]}};
}

uint32_t flow_sources_cells(uint32_t capacity)
{
	return rte_align32pow2(RTE_MAX(capacity, 1024u));
}

void flow_sources_prefetch(const struct flow_sources *s, const struct ip_addr *addr)
{
	struct pair p = cells_of(s, addr);

	__builtin_prefetch(p.cell[0], 1);
	__builtin_prefetch(p.cell[1], 1);
}

uint32_t flow_sources_count(const struct flow_sources *s, const struct ip_addr *addr)
{
	struct pair p = cells_of(s, addr);
	uint32_t a = atomic_load_explicit(p.cell[0], memory_order_relaxed);
	uint32_t b = atomic_load_explicit(p.cell[1], memory_order_relaxed);

	return RTE_MIN(a, b);
}

void flow_sources_add(struct flow_sources *s, const struct ip_addr *addr)
{
	struct pair p = cells_of(s, addr);

	atomic_fetch_add_explicit(p.cell[0], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(p.cell[1], 1, memory_order_relaxed);
}

void flow_sources_subtract(struct flow_sources *s, const struct ip_addr *addr)
{
	struct pair p = cells_of(s, addr);

	atomic_fetch_sub_explicit(p.cell[0], 1, memory_order_relaxed);
	atomic_fetch_sub_explicit(p.cell[1], 1, memory_order_relaxed);
}
