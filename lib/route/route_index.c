// SPDX-License-Identifier: BSD-3-Clause
#include <stdlib.h>

#include "route_table.h"

static uint32_t *bucket_of(
	const struct route_table *t, const struct ip_prefix *to, const struct ip_addr *from)
{
	const uint64_t word[] = {to->addr.q[0], to->addr.q[1], from->q[0], from->q[1], to->len};

	return &t->bucket[keyed_hash(&t->key, word, RTE_DIM(word)) & (t->n_buckets - 1)];
}

static bool route_is(const struct route *r, const struct ip_prefix *to, const struct ip_addr *from)
{
	return r->to.len == to->len && ip_addr_equal(&r->to.addr, &to->addr) &&
	       ip_addr_equal(&r->from, from);
}

static void bucket_add(struct route_table *t, uint32_t number)
{
	struct entry *e = route_entry(t, number);
	uint32_t *first = bucket_of(t, &e->route.to, &e->route.from);

	e->next = *first;
	*first = number;
}

// Doubles the buckets. Without memory for that, chains grow longer. The order of entries with one
// prefix stays: the newest is the first.
static void buckets_grow(struct route_table *t)
{
	uint32_t *old = t->bucket, *bucket = calloc(2 * (size_t)t->n_buckets, sizeof(bucket[0]));
	const unsigned int n = t->n_buckets;

	if (bucket == NULL)
		return;
	t->bucket = bucket;
	t->n_buckets *= 2;
	for (unsigned int i = 0; i < n; i++) {
		uint32_t oldest_first = 0, next;

		for (uint32_t at = old[i]; at != 0; at = next) {
			next = route_entry(t, at)->next;
			route_entry(t, at)->next = oldest_first;
			oldest_first = at;
		}
		for (uint32_t at = oldest_first; at != 0; at = next) {
			next = route_entry(t, at)->next;
			bucket_add(t, at);
		}
	}
	free(old);
}

void route_index_add(struct route_table *t, uint32_t number)
{
	const struct ip_prefix *to = &route_entry(t, number)->route.to;

	if (t->n_indexed == t->n_buckets)
		buckets_grow(t);
	bucket_add(t, number);
	t->n_indexed++;
	t->n_of_len[route_family(&to->addr)][to->len]++;
}

void route_index_remove(struct route_table *t, uint32_t number)
{
	const struct entry *e = route_entry(t, number);
	uint32_t *at = bucket_of(t, &e->route.to, &e->route.from);

	while (*at != number)
		at = &route_entry(t, *at)->next;
	*at = e->next;
	t->n_indexed--;
	t->n_of_len[route_family(&e->route.to.addr)][e->route.to.len]--;
}

uint32_t route_index_find(const struct route_table *t, const struct ip_prefix *to,
	const struct ip_addr *from, enum route_owner owner)
{
	uint32_t at = *bucket_of(t, to, from);

	while (at != 0 && (route_entry(t, at)->route.owner != owner ||
				  !route_is(&route_entry(t, at)->route, to, from)))
		at = route_entry(t, at)->next;
	return at;
}

uint32_t route_index_best(const struct route_table *t, const struct ip_prefix *to,
	const struct ip_addr *from, bool planned)
{
	const enum entry_state other = planned ? ENTRY_LEAVING : ENTRY_PLANNED;
	uint32_t best = 0;

	for (uint32_t at = *bucket_of(t, to, from); at != 0; at = route_entry(t, at)->next) {
		const struct entry *e = route_entry(t, at);

		if (e->state != other && !e->skipped && route_is(&e->route, to, from) &&
			(best == 0 || e->route.owner < route_entry(t, best)->route.owner))
			best = at;
	}
	return best;
}

// Removes the last bit of a prefix.
static void shorten(struct ip_prefix *to)
{
	to->len--;
	to->addr.b[to->len / 8] &= (uint8_t) ~(0x80u >> to->len % 8);
}

uint32_t route_index_cover(const struct route_table *t, const struct route *r)
{
	const unsigned int family = route_family(&r->to.addr);
	struct ip_prefix to = r->to;

	while (to.len > route_first_bit(family)) {
		uint32_t number;

		shorten(&to);
		if (t->n_of_len[family][to.len] == 0)
			continue;
		number = route_index_best(t, &to, &r->from, false);
		if (number != 0)
			return number;
	}
	return 0;
}

// Whether an outer packet may go by the entry.
static bool is_outer(const struct route_table *t, uint32_t number)
{
	return number != 0 &&
	       nexthop_first_kind(&route_entry(t, number)->route.nexthop) != NEXTHOP_TUNNEL;
}

const struct nexthop *route_find_outer(
	const struct route_table *t, const struct ip_addr *src, const struct ip_addr *dst)
{
	static const struct ip_addr any;
	const unsigned int family = route_family(dst);
	struct ip_prefix to = {.addr = *dst, .len = 128};

	for (;; shorten(&to)) {
		uint32_t number = 0;

		if (t->n_of_len[family][to.len] > 0) {
			number = route_index_best(t, &to, src, true);
			if (!is_outer(t, number))
				number = route_index_best(t, &to, &any, true);
		}
		if (is_outer(t, number))
			return &route_entry(t, number)->route.nexthop;
		if (to.len == route_first_bit(family))
			return NULL;
	}
}
