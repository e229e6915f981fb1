// SPDX-License-Identifier: BSD-3-Clause
#include "route.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "huge_pages.h"
#include "keyed_hash.h"
#include "trie.h"

#define ROUTES_MAX  (1u << 21)
#define NODES_MAX   (1u << 21)
#define ROOT_LEN    ((1u << TRIE_ROOT_BITS) * sizeof(uint32_t))
#define LISTED_LEN  RTE_ALIGN_CEIL((ROUTES_MAX + 1) * sizeof(uint32_t), HUGE_PAGE)
#define ROOTS_LEN   RTE_ALIGN_CEIL(2 * ROOT_LEN, HUGE_PAGE)
#define BUCKETS_MIN 64

enum { V4, V6, FAMILIES };

struct entry {
	struct route route;
	// Of the control thread:
	uint32_t next;  // number of the next one in its bucket
	uint32_t place; // in the list
};

// Routes of one source, an own address.
struct route_source {
	struct route_source *_Atomic next;
	struct ip_addr addr;
	_Atomic uint32_t root[FAMILIES]; // of the tries: one slot each
	struct trie trie[FAMILIES];
	unsigned int n;               // routes; of the control thread
	struct route_source *removed; // the next one that is to be freed
};

struct route_table {
	struct trie trie[FAMILIES]; // of routes without a source
	struct trie_nodes nodes;
	struct slab entries; // struct entry by number
	struct route_source *_Atomic sources;
	// The rest is of the control thread.
	struct route_source *removed_sources;
	_Atomic uint32_t *roots;
	struct hash_key key;
	uint32_t *bucket; // number of the first entry in it
	unsigned int n_buckets;
	uint32_t *listed; // numbers of all routes
	unsigned int n;
	uint32_t n_of_len[FAMILIES][129]; // routes, by length of the prefix
};

static unsigned int family_of(const struct ip_addr *a)
{
	return ip_addr_is_v4(a) ? V4 : V6;
}

static uint8_t first_bit(unsigned int family)
{
	return family == V4 ? IP_V4_BITS : 0;
}

struct route_table *route_table_new(void)
{
	struct route_table *t = calloc(1, sizeof(*t));
	bool made;

	if (t == NULL)
		return NULL;
	t->roots = huge_pages_reserve(ROOTS_LEN);
	t->listed = huge_pages_reserve(LISTED_LEN);
	t->bucket = calloc(BUCKETS_MIN, sizeof(t->bucket[0]));
	t->n_buckets = BUCKETS_MIN;
	made = t->roots != NULL && t->listed != NULL && t->bucket != NULL;
	made = slab_init(&t->entries, sizeof(struct entry), ROUTES_MAX) == 0 && made;
	made = trie_nodes_init(&t->nodes, NODES_MAX) == 0 && made;
	made = hash_key_draw(&t->key) == 0 && made;
	if (!made) {
		route_table_free(t);
		errno = ENOMEM;
		return NULL;
	}
	for (unsigned int f = 0; f < FAMILIES; f++)
		t->trie[f] = (struct trie){
			t->roots + f * (ROOT_LEN / sizeof(uint32_t)), first_bit(f), TRIE_ROOT_BITS};
	return t;
}

static void sources_free(struct route_source *s)
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
	sources_free(t->removed_sources);
	if (t->roots != NULL)
		munmap(t->roots, ROOTS_LEN);
	if (t->listed != NULL)
		munmap(t->listed, LISTED_LEN);
	slab_fini(&t->entries);
	trie_nodes_fini(&t->nodes);
	free(t->bucket);
	free(t);
}

static struct entry *entry_at(const struct route_table *t, uint32_t number)
{
	return (struct entry *)t->entries.memory + number; // slab_at() of a constant size
}

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

// Location of the number of the route with a prefix and a source, where a 0 is if there is none.
static uint32_t *entry_find(
	const struct route_table *t, const struct ip_prefix *to, const struct ip_addr *from)
{
	uint32_t *at = bucket_of(t, to, from);

	while (*at != 0 && !route_is(&entry_at(t, *at)->route, to, from))
		at = &entry_at(t, *at)->next;
	return at;
}

// Doubles the buckets. Without memory for that, chains grow longer.
static void buckets_grow(struct route_table *t)
{
	uint32_t *bucket = calloc(2 * (size_t)t->n_buckets, sizeof(bucket[0]));

	if (bucket == NULL)
		return;
	free(t->bucket);
	t->bucket = bucket;
	t->n_buckets *= 2;
	for (unsigned int i = 0; i < t->n; i++) {
		struct entry *e = entry_at(t, t->listed[i]);
		uint32_t *first = bucket_of(t, &e->route.to, &e->route.from);

		e->next = *first;
		*first = t->listed[i];
	}
}

// The number of the longest other prefix that contains one, of routes with the same source; 0: none
// does.
static uint32_t cover_of(const struct route_table *t, const struct route *r)
{
	const unsigned int family = family_of(&r->to.addr);
	struct ip_prefix to = r->to;

	while (to.len > first_bit(family)) {
		uint32_t number;

		to.len--;
		to.addr.b[to.len / 8] &= (uint8_t) ~(0x80u >> to.len % 8);
		if (t->n_of_len[family][to.len] == 0)
			continue;
		number = *entry_find(t, &to, &r->from);
		if (number != 0)
			return number;
	}
	return 0;
}

static struct route_source *source_find(const struct route_table *t, const struct ip_addr *addr)
{
	struct route_source *s = atomic_load_explicit(&t->sources, memory_order_acquire);

	while (s != NULL && !ip_addr_equal(&s->addr, addr))
		s = atomic_load_explicit(&s->next, memory_order_acquire);
	return s;
}

static struct route_source *source_add(struct route_table *t, const struct ip_addr *addr)
{
	struct route_source *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->addr = *addr;
	s->next = t->sources;
	for (unsigned int f = 0; f < FAMILIES; f++)
		s->trie[f] = (struct trie){&s->root[f], first_bit(f), 0};
	atomic_store_explicit(&t->sources, s, memory_order_release);
	return s;
}

static void source_remove(struct route_table *t, struct route_source *s)
{
	struct route_source *_Atomic *at = &t->sources;

	while (*at != s)
		at = &(*at)->next;
	atomic_store_explicit(at, s->next, memory_order_release);
	s->removed = t->removed_sources;
	t->removed_sources = s;
}

// The trie of a route; *source: that with its routes, or NULL. NULL: there is no memory.
static struct trie *trie_of(
	struct route_table *t, const struct route *r, struct route_source **source)
{
	const unsigned int family = family_of(&r->to.addr);

	*source = NULL;
	if (ip_addr_is_none(&r->from))
		return &t->trie[family];
	*source = source_find(t, &r->from);
	if (*source == NULL)
		*source = source_add(t, &r->from);
	return *source != NULL ? &(*source)->trie[family] : NULL;
}

// Makes an entry of the route in the place of the list. Returns its number, or 0.
static uint32_t entry_new(struct route_table *t, const struct route *r, uint32_t place)
{
	uint32_t number = slab_take(&t->entries);

	if (number != 0) {
		*entry_at(t, number) = (struct entry){.route = *r, .place = place};
		t->listed[place] = number;
	}
	return number;
}

// at: where the number of the former route is.
static int route_replace(struct route_table *t, const struct route *r, uint32_t *at)
{
	struct route_source *source;
	uint32_t old = *at, number = entry_new(t, r, entry_at(t, old)->place);

	if (number == 0)
		return -ENOSPC;
	entry_at(t, number)->next = entry_at(t, old)->next;
	*at = number;
	trie_replace(trie_of(t, r, &source), &t->nodes, &r->to, old, number);
	slab_remove(&t->entries, old);
	return 0;
}

static int route_add(struct route_table *t, const struct route *r, uint32_t *at)
{
	struct route_source *source;
	struct trie *trie = trie_of(t, r, &source);
	uint32_t number;
	int rc;

	if (trie == NULL)
		return -ENOMEM;
	number = entry_new(t, r, t->n);
	rc = number != 0 ? trie_add(trie, &t->nodes, &r->to, number, cover_of(t, r)) : -ENOSPC;
	if (rc == 0) {
		*at = number;
		t->n++;
		t->n_of_len[family_of(&r->to.addr)][r->to.len]++;
		if (source != NULL)
			source->n++;
		return 0;
	}
	if (number != 0)
		slab_remove(&t->entries, number);
	if (source != NULL && source->n == 0)
		source_remove(t, source);
	return rc;
}

int route_put(struct route_table *t, const struct route *r)
{
	uint32_t *at = entry_find(t, &r->to, &r->from);

	if (*at != 0)
		return route_replace(t, r, at);
	if (t->n < t->n_buckets)
		return route_add(t, r, at);
	buckets_grow(t);
	return route_add(t, r, entry_find(t, &r->to, &r->from));
}

int route_delete(struct route_table *t, const struct ip_prefix *to, const struct ip_addr *from)
{
	uint32_t *at = entry_find(t, to, from), number = *at, last;
	struct route_source *source;
	struct entry *e;
	struct trie *trie;

	if (number == 0)
		return -ENOENT;
	e = entry_at(t, number);
	*at = e->next;
	last = t->listed[--t->n];
	t->listed[e->place] = last;
	entry_at(t, last)->place = e->place;
	t->n_of_len[family_of(&to->addr)][to->len]--;
	trie = trie_of(t, &e->route, &source);
	trie_delete(trie, &t->nodes, to, number, cover_of(t, &e->route));
	slab_remove(&t->entries, number);
	if (source != NULL && --source->n == 0)
		source_remove(t, source);
	return 0;
}

struct route_removed route_table_removed(struct route_table *t)
{
	struct route_removed r = {
		slab_removed(&t->entries), slab_removed(&t->nodes.slab), t->removed_sources};

	t->removed_sources = NULL;
	return r;
}

void route_table_release(struct route_table *t, struct route_removed removed)
{
	slab_free(&t->entries, removed.routes);
	slab_free(&t->nodes.slab, removed.nodes);
	sources_free(removed.sources);
}

static const struct nexthop *nexthop_of(const struct route_table *t, uint32_t number)
{
	return number != 0 ? &entry_at(t, number)->route.nexthop : NULL;
}

const struct nexthop *route_find_v4(const struct route_table *t, rte_be32_t dst)
{
	return nexthop_of(
		t, trie_find_v4(&t->trie[V4], &t->nodes, rte_be_to_cpu_32(dst), TRIE_ROOT_BITS));
}

const struct nexthop *route_find(const struct route_table *t, const struct ip_addr *dst)
{
	if (ip_addr_is_v4(dst))
		return route_find_v4(t, ip_addr_v4(dst));
	return nexthop_of(t, trie_find_v6(&t->trie[V6], &t->nodes, dst, TRIE_ROOT_BITS));
}

static uint32_t find_of_source(
	const struct route_table *t, const struct route_source *s, const struct ip_addr *dst)
{
	if (ip_addr_is_v4(dst))
		return trie_find_v4(&s->trie[V4], &t->nodes, rte_be_to_cpu_32(ip_addr_v4(dst)), 0);
	return trie_find_v6(&s->trie[V6], &t->nodes, dst, 0);
}

const struct nexthop *route_find_from(
	const struct route_table *t, const struct ip_addr *src, const struct ip_addr *dst)
{
	const struct route_source *of = source_find(t, src);
	const struct nexthop *any = route_find(t, dst);
	const struct nexthop *own = of != NULL ? nexthop_of(t, find_of_source(t, of, dst)) : NULL;

	if (own == NULL || (any != NULL && route_of(any)->to.len > route_of(own)->to.len))
		return any;
	return own;
}

unsigned int route_count(const struct route_table *t)
{
	return t->n;
}

const struct route *route_at(const struct route_table *t, unsigned int i)
{
	return &entry_at(t, t->listed[i])->route;
}
