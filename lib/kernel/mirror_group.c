// SPDX-License-Identifier: BSD-3-Clause
#include "mirror_group.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

struct ip_prefix mirror_route_to(const struct mirror_route *r)
{
	struct ip_prefix to = {.len = r->len};

	if (r->is_v4)
		to.addr = ip_addr_from_v4(r->addr[0]);
	else
		memcpy(&to.addr, r->addr, sizeof(to.addr));
	return to;
}

static bool is_of(const struct mirror_route *r, const struct mirror_group *g)
{
	const struct ip_prefix to = mirror_route_to(r);

	return r->node.hash == g->hash && to.len == g->to.len &&
	       ip_addr_equal(&to.addr, &g->to.addr);
}

struct mirror_route *mirror_group_at(const struct mirror_group *g, struct linear_node *const *at)
{
	return *at != NULL && is_of(mirror_route_of(*at), g) ? mirror_route_of(*at) : NULL;
}

static uint32_t prefix_hash(const struct mirror_store *s, const struct ip_prefix *p)
{
	const uint64_t word[] = {p->addr.q[0], p->addr.q[1], p->len};

	return (uint32_t)keyed_hash(&s->key, word, RTE_DIM(word));
}

void mirror_group_take(struct mirror_group *g)
{
	struct mirror_route *r = mirror_group_at(g, g->first);

	g->shown = r != NULL ? r->shown : NULL;
	if (r != NULL)
		r->shown = NULL;
}

void mirror_group_find(
	const struct mirror_store *s, struct mirror_group *g, const struct ip_prefix *to)
{
	g->to = *to;
	g->hash = prefix_hash(s, to);
	g->first = linear_hash_find(&s->routes, g->hash);
	while (*g->first != NULL && mirror_group_at(g, g->first) == NULL)
		g->first = &(*g->first)->next;
}

// Whether a route is for some packets to its prefix alone.
static bool is_partial(const struct mirror_path_head *path)
{
	return path->unused == MIRROR_TOS || path->unused == MIRROR_SOURCE;
}

const struct mirror_route *mirror_group_used(struct mirror_store *s, const struct mirror_group *g)
{
	const struct mirror_route *r;

	for (struct linear_node **at = g->first; (r = mirror_group_at(g, at)) != NULL;
		at = &(*at)->next)
		if (!r->removed && !is_partial(&r->path->head) &&
			mirror_path_resolve(&s->nexthops, r->path) != NULL)
			return r;
	return NULL;
}

void mirror_group_settle(struct mirror_store *s, struct mirror_group *g)
{
	const struct mirror_route *used = mirror_group_used(s, g);
	struct mirror_path *path =
		used != NULL ? mirror_path_resolve(&s->nexthops, used->path) : NULL;
	struct mirror_route *first = mirror_group_at(g, g->first);

	if (path != g->shown || s->again) {
		s->changed(s->arg, &g->to, path);
		if (path != NULL)
			mirror_path_hold(path);
		mirror_path_release(&s->nexthops.paths, g->shown);
	}
	if (first != NULL)
		first->shown = path;
}

// --- routes of a group ---

// Counts a route that the kernel has, or has no longer.
static void route_count(struct mirror_store *s, const struct mirror_route *r, int by)
{
	s->n += (unsigned int)by;
	s->unused[r->path->head.unused] += (unsigned int)by;
}

void mirror_route_set_removed(struct mirror_store *s, struct mirror_route *r, bool removed)
{
	if (r->removed != removed)
		route_count(s, r, removed ? -1 : 1);
	r->removed = removed;
}

void mirror_route_free(struct mirror_store *s, struct linear_node **at)
{
	struct mirror_route *r = mirror_route_of(*at);

	mirror_route_set_removed(s, r, true);
	*at = r->node.next;
	linear_hash_removed(&s->routes);
	mirror_path_release(&s->nexthops.paths, r->path);
	free(r);
}

void mirror_route_remove(struct mirror_store *s, struct linear_node **at)
{
	struct mirror_route *r = mirror_route_of(*at);

	if (!s->dumping) {
		mirror_route_free(s, at);
		return;
	}
	mirror_route_set_removed(s, r, true);
	r->round = s->nexthops.round;
}

void mirror_route_insert(const struct mirror_group *g, struct mirror_route *r, bool before)
{
	struct linear_node **at = g->first;
	const struct mirror_route *other;

	while ((other = mirror_group_at(g, at)) != NULL &&
		(other->node.value < r->node.value ||
			(!before && other->node.value == r->node.value)))
		at = &(*at)->next;
	r->node.next = *at;
	*at = &r->node;
}

static struct mirror_route *route_new(
	struct mirror_store *s, const struct mirror_message *m, struct mirror_path *path)
{
	const bool is_v4 = ip_addr_is_v4(&m->to.addr);
	const size_t addr_len = is_v4 ? sizeof(rte_be32_t) : sizeof(m->to.addr);
	const size_t len = offsetof(struct mirror_route, addr) + addr_len;
	struct mirror_route *r = s->routes.n_nodes < s->max ? calloc(1, len) : NULL;

	if (r == NULL)
		return NULL;
	r->path = mirror_path_hold(path);
	r->node.hash = prefix_hash(s, &m->to);
	r->node.value = m->metric;
	r->is_v4 = is_v4;
	memcpy(r->addr, is_v4 ? &m->to.addr.w[3] : m->to.addr.w, addr_len);
	r->len = m->to.len;
	r->protocol = m->protocol;
	r->round = s->nexthops.round;
	route_count(s, r, 1);
	return r;
}

bool mirror_route_add(struct mirror_store *s, struct mirror_group *g,
	const struct mirror_message *m, struct mirror_path *path, bool before)
{
	struct mirror_route *r = path != NULL ? route_new(s, m, path) : NULL;

	if (r == NULL)
		return false;
	mirror_route_insert(g, r, before);
	linear_hash_added(&s->routes);
	mirror_group_find(s, g, &m->to); // the chain may have been split
	return true;
}

struct linear_node **mirror_group_same(const struct mirror_group *g, const struct mirror_message *m,
	const struct mirror_path *path)
{
	struct linear_node **at = g->first;
	const struct mirror_route *r;

	while ((r = mirror_group_at(g, at)) != NULL &&
		(r->node.value != m->metric || r->path != path))
		at = &(*at)->next;
	return r != NULL ? at : NULL;
}
