// SPDX-License-Identifier: BSD-3-Clause
#include "route_change.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "route_table.h"

// --- sources ---

static struct route_source *source_add(struct route_table *t, const struct ip_addr *addr)
{
	struct route_source *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->addr = *addr;
	s->next = t->sources;
	for (unsigned int f = 0; f < FAMILIES; f++)
		s->trie[f] = (struct trie){&s->root[f], route_first_bit(f), 0};
	atomic_store_explicit(&t->sources, s, memory_order_release);
	return s;
}

// Counts an entry of the source. False: there is no memory.
static bool source_hold(struct route_table *t, const struct ip_addr *addr)
{
	struct route_source *s = route_source_find(t, addr);

	if (ip_addr_is_none(addr))
		return true;
	if (s == NULL)
		s = source_add(t, addr);
	if (s != NULL)
		s->n++;
	return s != NULL;
}

static void source_drop(struct route_table *t, const struct ip_addr *addr)
{
	struct route_source *s = route_source_find(t, addr), *_Atomic *at = &t->sources;

	if (s == NULL || --s->n > 0)
		return;
	while (*at != s)
		at = &(*at)->next;
	atomic_store_explicit(at, s->next, memory_order_release);
	s->removed = t->removed_sources;
	t->removed_sources = s;
}

// --- entries ---

static bool is_whole(const struct ip_prefix *to)
{
	for (unsigned int bit = to->len; bit < 128; bit++)
		if ((to->addr.b[bit / 8] & 0x80u >> bit % 8) != 0)
			return false;
	return true;
}

static struct trie *trie_of(struct route_table *t, const struct route *r)
{
	struct route_source *s = route_source_find(t, &r->from);

	return &(s != NULL ? s->trie : t->trie)[route_family(&r->to.addr)];
}

static struct trie_nodes *nodes_of(struct route_table *t, const struct route *r)
{
	return &t->nodes[route_family(&r->to.addr)];
}

// Takes source and nodes for the entry of a route. Returns 0, or as route_put().
static int hold(struct route_table *t, const struct route *r)
{
	uint32_t left = r->owner == ROUTE_KERNEL ? KEPT(NODES_MAX) : 0;
	int rc;

	if (!source_hold(t, &r->from))
		return -ENOMEM;
	rc = trie_hold(trie_of(t, r), nodes_of(t, r), &r->to, left);
	if (rc < 0)
		source_drop(t, &r->from);
	return rc;
}

static void drop(struct route_table *t, const struct route *r)
{
	trie_drop(trie_of(t, r), nodes_of(t, r), &r->to);
	source_drop(t, &r->from);
}

// Numbers of removed entries are in use until these are free.
static bool is_full(const struct route_table *t, const struct route *r)
{
	unsigned int left = r->owner == ROUTE_KERNEL ? KEPT(ROUTES_MAX) : 0;

	return slab_unused(&t->entries) <= left ||
	       (t->n_indexed >= ROUTES_MAX - left &&
		       route_index_find(t, &r->to, &r->from, r->owner) == 0);
}

// Makes an entry that is planned. Returns 0, or as route_put(), without number.
static int entry_new(struct route_table *t, const struct route *r, uint32_t *number)
{
	int rc;

	*number = 0;
	if (!is_whole(&r->to))
		return -EINVAL;
	if (is_full(t, r))
		return -ENOSPC;
	*number = slab_take(&t->entries);
	rc = hold(t, r);
	if (rc < 0) {
		slab_give_back(&t->entries, *number);
		*number = 0;
		return rc;
	}
	*route_entry(t, *number) = (struct entry){.route = *r, .state = ENTRY_PLANNED};
	nexthop_use(&r->nexthop);
	route_index_add(t, *number);
	return 0;
}

// Frees an entry or a node. Readers find the group of an entry's hops by its number, so it is a
// user of the group until then.
static void give_back(struct route_table *t, struct slab *s, uint32_t number)
{
	if (s == &t->entries)
		nexthop_release(&route_entry(t, number)->route.nexthop, &t->groups);
	slab_give_back(s, number);
}

static const struct nexthop *route_at_number(const struct route_table *t, uint32_t number)
{
	return number != 0 ? &route_entry(t, number)->route.nexthop : NULL;
}

void route_table_watch(struct route_table *t, route_watch *watch, void *arg)
{
	t->watch = watch;
	t->watch_arg = arg;
}

// Lets packets go by the entry of the first owner. was: the one that they went by; 0: none.
static void choose(struct route_table *t, const struct route *r, uint32_t was)
{
	uint32_t now = route_index_best(t, &r->to, &r->from, false), cover;

	if (now == was)
		return;
	cover = was == 0 || now == 0 ? route_index_cover(t, r) : 0;
	if (t->watch != NULL)
		t->watch(t->watch_arg, r, route_at_number(t, was != 0 ? was : cover),
			route_at_number(t, now != 0 ? now : cover));
	atomic_store_explicit(&t->changes, t->changes + 1, memory_order_release);
	trie_change(trie_of(t, r), nodes_of(t, r), &r->to, was != 0 ? was : cover,
		now != 0 ? now : cover);
}

static void place_set(struct route_table *t, uint32_t number, uint32_t place)
{
	t->listed[place] = number;
	route_entry(t, number)->place = place;
}

static void entry_remove(struct route_table *t, uint32_t number)
{
	struct entry *e = route_entry(t, number);

	drop(t, &e->route);
	e->state = ENTRY_REMOVED;
	slab_remove(&t->entries, number);
}

// A planned entry takes the place of the active one with the same prefix, source and owner.
static void entry_begin(struct route_table *t, uint32_t number)
{
	struct entry *e = route_entry(t, number);
	const struct route *r = &e->route;
	uint32_t was = route_index_best(t, &r->to, &r->from, false), old;

	route_index_remove(t, number);
	old = route_index_find(t, &r->to, &r->from, r->owner);
	if (old != 0)
		route_index_remove(t, old);
	route_index_add(t, number);
	e->state = ENTRY_ACTIVE;
	place_set(t, number, old != 0 ? route_entry(t, old)->place : t->n++);
	choose(t, r, was);
	if (old != 0)
		entry_remove(t, old);
}

static void entry_end(struct route_table *t, uint32_t number)
{
	const struct entry *e = route_entry(t, number);
	uint32_t was = route_index_best(t, &e->route.to, &e->route.from, false);

	route_index_remove(t, number);
	place_set(t, t->listed[--t->n], e->place);
	choose(t, &e->route, was);
	entry_remove(t, number);
}

int route_put(struct route_table *t, const struct route *route)
{
	uint32_t number = route_index_find(t, &route->to, &route->from, route->owner);
	int rc;

	if (number != 0 && nexthop_equal(&route_entry(t, number)->route.nexthop, &route->nexthop))
		return 0;
	rc = entry_new(t, route, &number);
	if (rc == 0)
		entry_begin(t, number);
	return rc;
}

int route_delete(struct route_table *t, const struct ip_prefix *to, const struct ip_addr *from,
	enum route_owner owner)
{
	uint32_t number = route_index_find(t, to, from, owner);

	if (number == 0)
		return -ENOENT;
	entry_end(t, number);
	return 0;
}

static void skip_check(
	struct route_table *t, uint32_t number, nexthop_is_up_fn *is_up, const void *arg)
{
	struct entry *e = route_entry(t, number);
	const struct route *r = &e->route;
	bool skipped = r->skip && !is_up(arg, &r->nexthop);
	uint32_t was;

	if (skipped == e->skipped)
		return;
	was = route_index_best(t, &r->to, &r->from, false);
	e->skipped = skipped;
	choose(t, r, was);
}

void route_table_skip(struct route_table *t, nexthop_is_up_fn *is_up, const void *arg)
{
	for (unsigned int i = 0; i < t->n_configured; i++)
		skip_check(t, t->configured[i], is_up, arg);
	for (unsigned int i = 0; i < t->n_planned; i++)
		skip_check(t, t->planned[i], is_up, arg);
}

struct route_removed route_table_removed(struct route_table *t)
{
	struct route_removed r = {slab_removed(&t->entries), {0}, t->removed_sources};

	for (unsigned int f = 0; f < FAMILIES; f++)
		r.nodes[f] = slab_removed(&t->nodes[f].slab);

	t->removed_sources = NULL;
	return r;
}

static _Atomic uint8_t *entry_mark(
	const struct route_table *t, const struct slab *s, uint32_t number)
{
	(void)s;
	return &route_entry(t, number)->remembered;
}

// Frees the elements of a chain that are not remembered.
static void chain_release(struct route_table *t, struct slab *s, uint32_t chain,
	struct limbo *limbo,
	_Atomic uint8_t *(*mark)(const struct route_table *, const struct slab *, uint32_t))
{
	for (uint32_t number = chain, next; number != 0; number = next) {
		next = s->next[number];
		if (atomic_load_explicit(mark(t, s, number), memory_order_relaxed) == 0) {
			give_back(t, s, number);
			continue;
		}
		s->next[number] = limbo->chain;
		*limbo = (struct limbo){number, limbo->n + 1};
	}
}

void route_table_release(struct route_table *t, struct route_removed removed)
{
	chain_release(t, &t->entries, removed.routes, &t->limbo_routes, entry_mark);
	for (unsigned int f = 0; f < FAMILIES; f++)
		chain_release(t, &t->nodes[f].slab, removed.nodes[f], &t->limbo_nodes[f],
			route_node_mark);
	route_sources_free(removed.sources);
}

static void limbo_forget(const struct route_table *t, struct slab *s, struct limbo *limbo,
	_Atomic uint8_t *(*mark)(const struct route_table *, const struct slab *, uint32_t))
{
	for (uint32_t number = limbo->chain, next; number != 0; number = next) {
		next = s->next[number];
		atomic_store_explicit(mark(t, s, number), 0, memory_order_relaxed);
		slab_remove(s, number);
	}
	*limbo = (struct limbo){0};
}

void route_table_forget(struct route_table *t)
{
	limbo_forget(t, &t->entries, &t->limbo_routes, entry_mark);
	for (unsigned int f = 0; f < FAMILIES; f++)
		limbo_forget(t, &t->nodes[f].slab, &t->limbo_nodes[f], route_node_mark);
}

bool route_table_must_forget(const struct route_table *t)
{
	return t->limbo_routes.n > ENTRIES_MAX / 16 ||
	       t->limbo_nodes[V4].n + t->limbo_nodes[V6].n > NODES_MAX / 32;
}

// --- plans ---

// The entry that the route has, or is to have: *number; 0: one that comes later in the plan has its
// place. Returns 0, or as route_put().
static int plan_one(struct route_table *t, const struct route *r, uint32_t *number)
{
	struct entry *e;

	*number = route_index_find(t, &r->to, &r->from, r->owner);
	e = route_entry(t, *number);
	if (*number == 0)
		return entry_new(t, r, number);
	if (e->state != ENTRY_LEAVING) {
		*number = 0;
		return 0;
	}
	if (!nexthop_equal(&e->route.nexthop, &r->nexthop) || e->route.skip != r->skip)
		return entry_new(t, r, number);
	e->state = ENTRY_ACTIVE;
	return 0;
}

int route_plan(struct route_table *t, const struct route routes[], unsigned int n)
{
	int rc = 0;

	t->planned = calloc(n + 1, sizeof(t->planned[0]));
	if (t->planned == NULL)
		return -ENOMEM;
	t->n_planned = n;
	for (unsigned int i = 0; i < t->n_configured; i++)
		if (t->configured[i] != 0)
			route_entry(t, t->configured[i])->state = ENTRY_LEAVING;
	for (unsigned int i = n; rc == 0 && i-- > 0;)
		rc = plan_one(t, &routes[i], &t->planned[i]);
	if (rc < 0)
		route_plan_drop(t);
	return rc;
}

// Whether the place i of the plan has an entry that is to be added.
static bool is_new(const struct route_table *t, unsigned int i)
{
	return t->planned[i] != 0 && route_entry(t, t->planned[i])->state == ENTRY_PLANNED;
}

static bool is_leaving(const struct route_table *t, unsigned int i)
{
	return t->configured[i] != 0 && route_entry(t, t->configured[i])->state == ENTRY_LEAVING;
}

void route_plan_each(const struct route_table *t,
	void (*changed)(void *arg, const struct ip_prefix *to), void *arg)
{
	for (unsigned int i = 0; i < t->n_planned; i++)
		if (is_new(t, i))
			changed(arg, &route_entry(t, t->planned[i])->route.to);
	for (unsigned int i = 0; i < t->n_configured; i++)
		if (is_leaving(t, i))
			changed(arg, &route_entry(t, t->configured[i])->route.to);
}

void route_plan_drop(struct route_table *t)
{
	for (unsigned int i = 0; i < t->n_planned; i++)
		if (is_new(t, i)) {
			route_index_remove(t, t->planned[i]);
			drop(t, &route_entry(t, t->planned[i])->route);
			give_back(t, &t->entries, t->planned[i]);
		}
	for (unsigned int i = 0; i < t->n_configured; i++)
		if (t->configured[i] != 0)
			route_entry(t, t->configured[i])->state = ENTRY_ACTIVE;
	free(t->planned);
	t->planned = NULL;
	t->n_planned = 0;
}

void route_plan_begin(struct route_table *t)
{
	for (unsigned int i = 0; i < t->n_planned; i++) {
		const struct entry *e = route_entry(t, t->planned[i]);

		if (is_new(t, i) && !e->skipped &&
			nexthop_first_kind(&e->route.nexthop) > NEXTHOP_GATEWAY)
			entry_begin(t, t->planned[i]);
	}
}

void route_plan_end(struct route_table *t)
{
	for (unsigned int i = 0; i < t->n_planned; i++)
		if (is_new(t, i))
			entry_begin(t, t->planned[i]);
	for (unsigned int i = 0; i < t->n_configured; i++)
		if (is_leaving(t, i))
			entry_end(t, t->configured[i]);
	free(t->configured);
	t->configured = t->planned;
	t->n_configured = t->n_planned;
	t->planned = NULL;
	t->n_planned = 0;
}
