// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "huge_pages.h"
#include "route_table.h"

#define ROOT_LEN    ((1u << TRIE_ROOT_BITS) * sizeof(uint32_t))
#define LISTED_LEN  RTE_ALIGN_CEIL((ROUTES_MAX + 1) * sizeof(uint32_t), HUGE_PAGE)
#define ROOTS_LEN   RTE_ALIGN_CEIL(FAMILIES *ROOT_LEN, HUGE_PAGE)
#define NODES_LEN   slab_len(sizeof(struct trie_node), NODES_MAX)
#define MEMORY_LEN  (ROOTS_LEN + FAMILIES * NODES_LEN)
#define MARKS_LEN   RTE_ALIGN_CEIL(MEMORY_LEN / sizeof(struct trie_node), HUGE_PAGE)
#define BUCKETS_MIN 64

struct route_table *route_table_new(void)
{
	struct route_table *t = calloc(1, sizeof(*t));
	bool made;

	if (t == NULL)
		return NULL;
	t->memory = huge_pages_reserve(MEMORY_LEN);
	t->remembered = huge_pages_reserve(MARKS_LEN);
	t->listed = huge_pages_reserve(LISTED_LEN);
	t->bucket = calloc(BUCKETS_MIN, sizeof(t->bucket[0]));
	t->n_buckets = BUCKETS_MIN;
	made = t->memory != NULL && t->remembered != NULL && t->listed != NULL && t->bucket != NULL;
	made = slab_init(&t->entries, NULL, sizeof(struct entry), ENTRIES_MAX) == 0 && made;
	for (unsigned int f = 0; f < FAMILIES && made; f++)
		made = trie_nodes_init(&t->nodes[f],
			       RTE_PTR_ADD(t->memory, ROOTS_LEN + f * NODES_LEN), NODES_MAX) == 0;
	made = hash_key_draw(&t->key) == 0 && made;
	if (!made) {
		route_table_free(t);
		errno = ENOMEM;
		return NULL;
	}
	t->slots = (struct route_slots){
		t->memory, t->entries.memory + offsetof(struct entry, route.nexthop)};
	for (unsigned int f = 0; f < FAMILIES; f++)
		t->trie[f] = (struct trie){
			RTE_PTR_ADD(t->memory, f * ROOT_LEN), route_first_bit(f), TRIE_ROOT_BITS};
	return t;
}

void route_sources_free(struct route_source *s)
{
	for (struct route_source *next; s != NULL; s = next) {
		next = s->removed;
		free(s);
	}
}

void route_table_free(struct route_table *t)
{
	struct route_source *next;

	if (t == NULL)
		return;
	for (struct route_source *s = t->sources; s != NULL; s = next) {
		next = s->next;
		free(s);
	}
	route_sources_free(t->removed_sources);
	hop_groups_free(&t->groups);
	if (t->memory != NULL)
		munmap(t->memory, MEMORY_LEN);
	if (t->remembered != NULL)
		munmap(t->remembered, MARKS_LEN);
	if (t->listed != NULL)
		munmap(t->listed, LISTED_LEN);
	slab_fini(&t->entries);
	for (unsigned int f = 0; f < FAMILIES; f++)
		trie_nodes_fini(&t->nodes[f]);
	free(t->bucket);
	free(t->configured);
	free(t->planned); // a reload was not finished
	free(t);
}

struct hop_groups *route_table_groups(struct route_table *t)
{
	return &t->groups;
}

uint32_t route_hash(const struct route_table *t, const uint64_t word[], unsigned int n)
{
	return (uint32_t)keyed_hash(&t->key, word, n);
}

static const struct nexthop *nexthop_of(const struct route_table *t, uint32_t number)
{
	return number != 0 ? &route_entry(t, number)->route.nexthop : NULL;
}

static __rte_always_inline uint32_t find_v4(
	const struct route_table *t, rte_be32_t dst, const _Atomic uint32_t **slot)
{
	return trie_find_v4(
		&t->trie[V4], &t->nodes[V4], rte_be_to_cpu_32(dst), TRIE_ROOT_BITS, slot);
}

static __rte_always_inline uint32_t find(
	const struct route_table *t, const struct ip_addr *dst, const _Atomic uint32_t **slot)
{
	return ip_addr_is_v4(dst)
		       ? find_v4(t, ip_addr_v4(dst), slot)
		       : trie_find_v6(&t->trie[V6], &t->nodes[V6], dst, TRIE_ROOT_BITS, slot);
}

const struct nexthop *route_find_v4(const struct route_table *t, rte_be32_t dst)
{
	const _Atomic uint32_t *slot;

	return nexthop_of(t, find_v4(t, dst, &slot));
}

const struct nexthop *route_find(const struct route_table *t, const struct ip_addr *dst)
{
	const _Atomic uint32_t *slot;

	return nexthop_of(t, find(t, dst, &slot));
}

bool route_table_has_sources(const struct route_table *t)
{
	return atomic_load_explicit(&t->sources, memory_order_acquire) != NULL;
}

struct route_source *route_source_find(const struct route_table *t, const struct ip_addr *addr)
{
	struct route_source *s = atomic_load_explicit(&t->sources, memory_order_acquire);

	while (s != NULL && !ip_addr_equal(&s->addr, addr))
		s = atomic_load_explicit(&s->next, memory_order_acquire);
	return s;
}

static uint32_t find_of_source(
	const struct route_table *t, const struct route_source *s, const struct ip_addr *dst)
{
	const _Atomic uint32_t *slot;

	if (ip_addr_is_v4(dst))
		return trie_find_v4(
			&s->trie[V4], &t->nodes[V4], rte_be_to_cpu_32(ip_addr_v4(dst)), 0, &slot);
	return trie_find_v6(&s->trie[V6], &t->nodes[V6], dst, 0, &slot);
}

// Whether packets by the route may go by the next hop.
static bool leads_by(const struct nexthop *of_route, const struct nexthop *nexthop)
{
	return of_route == nexthop ||
	       (nexthop->hop != 0 && nexthop_hop(of_route, nexthop->hop) == nexthop);
}

uint64_t route_remember(struct route_table *t, const struct ip_addr *src, const struct ip_addr *dst,
	const struct nexthop *nexthop)
{
	const _Atomic uint32_t *slot;
	uint32_t number = find(t, dst, &slot);
	uint64_t place = (uint64_t)(slot - t->slots.slot);

	if (number == 0 || !leads_by(nexthop_of(t, number), nexthop) ||
		route_source_find(t, src) != NULL)
		return 0;
	// Before it is remembered: after a grace period the control thread looks whether it is.
	if (atomic_load_explicit(&route_entry(t, number)->remembered, memory_order_relaxed) == 0)
		atomic_store_explicit(&route_entry(t, number)->remembered, 1, memory_order_relaxed);
	if (atomic_load_explicit(&t->remembered[place / TRIE_FANOUT], memory_order_relaxed) == 0)
		atomic_store_explicit(&t->remembered[place / TRIE_FANOUT], 1, memory_order_relaxed);
	return place << 32 | number;
}

bool route_table_has(const struct route_table *t, const struct nexthop *nexthop)
{
	uintptr_t from = (uintptr_t)t->entries.memory, at = (uintptr_t)nexthop;

	return at >= from && at - from < slab_len(t->entries.size, t->entries.max);
}

// Of two tries, while at most one change is being made: it is in one of them, so that the answer is
// that before or after it.
static const struct nexthop *find_in_both(
	const struct route_table *t, const struct route_source *s, const struct ip_addr *dst)
{
	const struct nexthop *any = route_find(t, dst);
	const struct nexthop *own = nexthop_of(t, find_of_source(t, s, dst));

	if (own == NULL || (any != NULL && route_of(any)->to.len > route_of(own)->to.len))
		return any;
	return own;
}

const struct nexthop *route_find_from(
	const struct route_table *t, const struct ip_addr *src, const struct ip_addr *dst)
{
	const struct route_source *of = route_source_find(t, src);
	const struct nexthop *found;
	uint64_t changes;

	if (of == NULL)
		return route_find(t, dst);
	do {
		changes = atomic_load_explicit(&t->changes, memory_order_acquire);
		found = find_in_both(t, of, dst);
	} while (atomic_load_explicit(&t->changes, memory_order_relaxed) != changes);
	return found;
}

unsigned int route_count(const struct route_table *t)
{
	return t->n;
}

const struct route *route_at(const struct route_table *t, unsigned int i)
{
	return &route_entry(t, t->listed[i])->route;
}

const struct route *route_used(const struct route_table *t, const struct route *route)
{
	uint32_t number = route_index_best(t, &route->to, &route->from, false);

	return number != 0 ? &route_entry(t, number)->route : NULL;
}

bool route_is_skipped(const struct route *route)
{
	return ((const struct entry *)route)->skipped; // begins with it
}
