// SPDX-License-Identifier: BSD-3-Clause
#include "mirror_store.h"

#include <stdlib.h>

// --- which route a message is about ---

// Whether the kernel has a route with the metric of the message, for the same packets.
static bool is_rival(const struct mirror_route *r, const struct mirror_message *m)
{
	return !r->removed && r->node.value == m->metric && r->path->head.tos == m->path.tos &&
	       (r->path->head.unused == MIRROR_SOURCE) == (m->path.unused == MIRROR_SOURCE);
}

// Whether the kernel joins IPv6 routes of one metric to one with several next hops: those by
// routers, that use no objects.
static bool is_joined(const struct ip_prefix *to, const struct mirror_path_head *path,
	const struct mirror_hop hop[])
{
	if (ip_addr_is_v4(&to->addr) || path->kind != MIRROR_HOPS)
		return false;
	for (uint32_t i = 0; i < path->n_hops; i++)
		if (ip_addr_is_none(&hop[i].gateway))
			return false;
	return true;
}

enum relation { ANY, LIKE, EQUALLY_JOINED, PART_OF_IT, HAS_IT };

static bool is_related(const struct mirror_group *g, const struct mirror_route *r,
	const struct mirror_message *m, enum relation relation)
{
	bool joined = is_joined(&g->to, &m->path, m->hop),
	     other = is_joined(&g->to, &r->path->head, r->path->hop);

	switch (relation) {
	case LIKE:
		return mirror_path_is_like(r->path, &m->path, m->hop);
	case EQUALLY_JOINED:
		return joined == other;
	case PART_OF_IT:
		return joined && other &&
		       mirror_hops_include(
			       m->hop, m->path.n_hops, r->path->hop, r->path->head.n_hops);
	case HAS_IT:
		return joined && other &&
		       mirror_hops_include(
			       r->path->hop, r->path->head.n_hops, m->hop, m->path.n_hops);
	default:
		return true;
	}
}

// The first rival in that relation to the message. NULL: there is none.
static struct linear_node **rival_find(
	const struct mirror_group *g, const struct mirror_message *m, enum relation relation)
{
	struct linear_node **at = g->first;
	const struct mirror_route *r;

	while ((r = mirror_group_at(g, at)) != NULL &&
		!(is_rival(r, m) && is_related(g, r, m, relation)))
		at = &(*at)->next;
	return r != NULL ? at : NULL;
}

// --- messages ---

// A route by the next hops of another one without those of the message.
static void hops_remove(struct mirror_store *s, struct mirror_group *g, struct linear_node **at,
	struct mirror_message *m)
{
	const struct mirror_path *path = mirror_route_of(*at)->path;
	struct mirror_hop left[MIRROR_HOPS_MAX];
	struct mirror_path_head head = path->head;
	struct mirror_path *rest;

	head.n_hops = 0;
	for (uint32_t i = 0; i < path->head.n_hops; i++)
		if (!mirror_hops_include(m->hop, m->path.n_hops, &path->hop[i], 1))
			left[head.n_hops++] = path->hop[i];
	rest = head.n_hops > 0 ? mirror_path_get(&s->nexthops.paths, &head, left) : NULL;
	m->protocol = mirror_route_of(*at)->protocol;
	mirror_route_remove(s, at);
	if (rest != NULL)
		mirror_route_add(s, g, m, rest, false);
	mirror_path_release(&s->nexthops.paths, rest);
}

static void route_gone(struct mirror_store *s, struct mirror_group *g, struct mirror_message *m)
{
	struct linear_node **at = rival_find(g, m, LIKE);

	if (at != NULL) {
		mirror_route_remove(s, at);
		return;
	}
	at = rival_find(g, m, HAS_IT);
	if (at != NULL)
		hops_remove(s, g, at, m);
	else if (s->over > 0)
		s->over--;
	else
		s->doubtful = true;
}

// The route in whose place the kernel has put that of the message. NULL: none.
static struct linear_node **replaced_find(
	const struct mirror_group *g, const struct mirror_message *m)
{
	struct linear_node **at = NULL;

	if (!m->replaces)
		return rival_find(g, m, PART_OF_IT);
	if (!ip_addr_is_v4(&g->to.addr))
		at = rival_find(g, m, EQUALLY_JOINED);
	return at != NULL ? at : rival_find(g, m, ANY);
}

static void route_announced(struct mirror_store *s, struct mirror_group *g,
	struct mirror_message *m, struct mirror_path *path)
{
	struct linear_node **at = replaced_find(g, m);
	bool before = ip_addr_is_v4(&g->to.addr) && !m->appended;

	if (at != NULL && mirror_route_of(*at)->path == path) {
		mirror_route_of(*at)->round = s->nexthops.round;
		mirror_route_of(*at)->protocol = m->protocol;
		return;
	}
	if (at != NULL)
		mirror_route_remove(s, at);
	at = path != NULL ? mirror_group_same(g, m, path) : NULL;
	if (at != NULL)
		mirror_route_free(s, at); // is added in its new place
	s->doubtful |= rival_find(g, m, ANY) != NULL;
	if (!mirror_route_add(s, g, m, path, before))
		s->over++;
}

static void route_dumped(struct mirror_store *s, struct mirror_group *g, struct mirror_message *m,
	struct mirror_path *path)
{
	struct linear_node **at = path != NULL ? mirror_group_same(g, m, path) : NULL;
	struct mirror_route *r;

	if (at == NULL) {
		s->over_dumped += !mirror_route_add(s, g, m, path, false);
		return;
	}
	r = mirror_route_of(*at);
	if (r->round == s->nexthops.round)
		return; // a message was newer
	r->round = s->nexthops.round;
	r->protocol = m->protocol;
	mirror_route_set_removed(s, r, false);
	*at = r->node.next;
	mirror_route_insert(g, r, false);
}

// A protocol that is not followed has replaced a route of one that may be.
static void route_taken(
	struct mirror_store *s, struct mirror_group *g, const struct mirror_message *m)
{
	struct linear_node **at = m->replaces && !m->removed ? replaced_find(g, m) : NULL;

	if (at == NULL)
		return;
	mirror_route_remove(s, at);
	s->doubtful = true;
}

void mirror_store_apply(struct mirror_store *s, struct mirror_message *m, bool wanted, bool dumped)
{
	struct mirror_path *path;
	struct mirror_group g;

	if (!wanted && dumped)
		return;
	mirror_lives_set(&s->nexthops, m);
	mirror_group_find(s, &g, &m->to);
	mirror_group_take(&g);
	if (!wanted) {
		route_taken(s, &g, m);
	} else if (m->removed) {
		route_gone(s, &g, m);
	} else {
		path = mirror_path_get(&s->nexthops.paths, &m->path, m->hop);
		if (dumped)
			route_dumped(s, &g, m, path);
		else
			route_announced(s, &g, m, path);
		mirror_path_release(&s->nexthops.paths, path);
	}
	mirror_group_settle(s, &g);
}

// --- all routes ---

int mirror_store_open(struct mirror_store *s, unsigned int max, mirror_changed *changed, void *arg)
{
	int rc;

	*s = (struct mirror_store){.max = max, .changed = changed, .arg = arg};
	rc = hash_key_draw(&s->key);
	if (rc == 0)
		rc = linear_hash_open(&s->routes);
	if (rc == 0)
		rc = mirror_nexthops_open(&s->nexthops, max);
	s->epoch = s->nexthops.epoch;
	return rc;
}

static void chain_free(struct mirror_store *s, struct linear_node **at)
{
	while (*at != NULL) {
		mirror_path_release(&s->nexthops.paths, mirror_route_of(*at)->shown);
		mirror_route_free(s, at);
	}
}

void mirror_store_close(struct mirror_store *s)
{
	for (unsigned int i = 0; i < s->routes.n_buckets; i++)
		chain_free(s, linear_hash_bucket(&s->routes, i));
	linear_hash_close(&s->routes);
	mirror_nexthops_close(&s->nexthops);
}

void mirror_store_dump_begins(struct mirror_store *s)
{
	s->nexthops.round++;
	s->dumping = true;
	s->over_dumped = 0;
	s->doubtful = false;
}

void mirror_store_dump_ended(struct mirror_store *s)
{
	s->dumping = false;
	s->over = s->over_dumped;
	s->purge_left = s->routes.n_buckets;
}

bool mirror_store_is_settled(const struct mirror_store *s)
{
	return s->purge_left == 0;
}

// Removes the routes of a group that the last dump lacked.
static void group_purge(struct mirror_store *s, const struct mirror_group *g)
{
	struct linear_node **at = g->first;
	const struct mirror_route *r;

	while ((r = mirror_group_at(g, at)) != NULL) {
		if (r->removed || r->round != s->nexthops.round)
			mirror_route_free(s, at);
		else
			at = &(*at)->next;
	}
}

static void bucket_visit(struct mirror_store *s, struct linear_node **at)
{
	while (*at != NULL) {
		const struct mirror_route *r = mirror_route_of(*at);
		struct mirror_group g = {
			.first = at, .to = mirror_route_to(r), .hash = r->node.hash};

		mirror_group_take(&g);
		if (s->purge_left > 0)
			group_purge(s, &g);
		mirror_group_settle(s, &g);
		while (mirror_group_at(&g, at) != NULL)
			at = &(*at)->next;
	}
}

// The table may have grown: its new buckets are to be visited as well.
static void left_update(struct mirror_store *s)
{
	unsigned int more = s->routes.n_buckets - s->buckets_seen;

	s->buckets_seen = s->routes.n_buckets;
	if (s->purge_left > 0)
		s->purge_left += more;
	if (s->resolve_left > 0)
		s->resolve_left += more;
	if (s->epoch != s->nexthops.epoch)
		s->resolve_left = s->routes.n_buckets;
	s->epoch = s->nexthops.epoch;
}

void mirror_store_limit(struct mirror_store *s, unsigned int max)
{
	s->max = max;
	mirror_nexthops_limit(&s->nexthops, max);
}

void mirror_store_again(struct mirror_store *s)
{
	s->again = true;
	s->resolve_left = s->routes.n_buckets;
}

bool mirror_store_work(struct mirror_store *s, unsigned int buckets)
{
	left_update(s);
	for (; buckets > 0 && (s->purge_left > 0 || s->resolve_left > 0); buckets--) {
		s->cursor = s->cursor < s->routes.n_buckets ? s->cursor : 0;
		bucket_visit(s, linear_hash_bucket(&s->routes, s->cursor++));
		s->purge_left -= s->purge_left > 0;
		s->resolve_left -= s->resolve_left > 0;
	}
	s->again &= s->resolve_left > 0;
	while (buckets > 0 && linear_hash_shrink(&s->routes))
		buckets--;
	s->buckets_seen = s->routes.n_buckets;
	return buckets == 0;
}

const struct mirror_route *mirror_store_find(struct mirror_store *s, const struct ip_prefix *to)
{
	struct mirror_group g;

	mirror_group_find(s, &g, to);
	return mirror_group_used(s, &g);
}

void mirror_store_each(const struct mirror_store *s, mirror_changed *each, void *arg)
{
	for (unsigned int i = 0; i < s->routes.n_buckets; i++)
		for (struct linear_node *n = *linear_hash_bucket(&s->routes, i); n != NULL;
			n = n->next) {
			const struct mirror_route *r = mirror_route_of(n);
			const struct ip_prefix to = mirror_route_to(r);

			if (r->shown != NULL)
				each(arg, &to, r->shown);
		}
}
