// SPDX-License-Identifier: BSD-3-Clause
#include "mirror_nexthop.h"

#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#define NUMBER_HASH 0x9e3779b1u // spreads consecutive numbers

// Both begin as struct numbered does.
struct numbered {
	struct linear_node node;
	uint32_t id;
	uint8_t round; // of the dump during which there was a message about it
	bool removed;  // by a message during a dump, whose record of it may be older
};

struct link {
	struct numbered number;
	char name[IF_NAMESIZE];
	bool up, running;
	uint32_t master;
	uint32_t life;         // of next hops of routes: until the link goes down
	uint32_t running_life; // of objects: until it has no carrier
};

struct object {
	struct numbered number;
	uint32_t life; // until it is removed; it stays when it is replaced
	struct mirror_path_head head;
	struct mirror_hop hop[];
};

static uint32_t hash_of(uint32_t id)
{
	return id * NUMBER_HASH;
}

static void *numbered_find(const struct linear_hash *h, uint32_t id)
{
	for (struct linear_node *n = *linear_hash_find(h, hash_of(id)); n != NULL; n = n->next) {
		struct numbered *found = container_of(n, struct numbered, node);

		if (found->id == id)
			return found;
	}
	return NULL;
}

static void numbered_add(struct linear_hash *h, struct numbered *added, uint32_t id)
{
	struct linear_node **bucket = linear_hash_find(h, hash_of(id));

	added->id = id;
	added->node.hash = hash_of(id);
	added->node.next = *bucket;
	*bucket = &added->node;
	linear_hash_added(h);
}

static void numbered_remove(struct linear_hash *h, struct numbered *removed)
{
	struct linear_node **at = linear_hash_find(h, removed->node.hash);

	while (*at != &removed->node)
		at = &(*at)->next;
	*at = removed->node.next;
	linear_hash_removed(h);
}

// Calls each with all, of which it may remove that one.
static void numbered_each(struct mirror_nexthops *n, struct linear_hash *h,
	void (*each)(struct mirror_nexthops *n, struct numbered *of))
{
	for (unsigned int b = 0; b < h->n_buckets; b++)
		for (struct linear_node *at = *linear_hash_bucket(h, b), *next; at != NULL;
			at = next) {
			next = at->next;
			each(n, container_of(at, struct numbered, node));
		}
}

void mirror_nexthops_limit(struct mirror_nexthops *n, unsigned int max)
{
	n->max = n->paths.max = max;
}

int mirror_nexthops_open(struct mirror_nexthops *n, unsigned int max)
{
	int rc = mirror_paths_open(&n->paths);

	mirror_nexthops_limit(n, max);
	n->epoch = 1; // paths have not been resolved
	if (rc == 0)
		rc = linear_hash_open(&n->links);
	if (rc == 0)
		rc = linear_hash_open(&n->objects);
	return rc;
}

// --- links ---

static void link_free(struct mirror_nexthops *n, struct numbered *of)
{
	numbered_remove(&n->links, of);
	free(of);
}

// A link that exists.
static struct link *link_find(const struct mirror_nexthops *n, uint32_t id)
{
	struct link *l = numbered_find(&n->links, id);

	return l != NULL && !l->number.removed ? l : NULL;
}

const char *mirror_link_name(const struct mirror_nexthops *n, uint32_t link)
{
	const struct link *l = link_find(n, link);

	return l != NULL ? l->name : NULL;
}

static struct link *link_add(struct mirror_nexthops *n, uint32_t id)
{
	struct link *l;

	if (n->links.n_nodes >= n->max)
		return NULL;
	l = calloc(1, sizeof(*l));
	if (l == NULL)
		return NULL;
	l->life = l->running_life = ++n->lives; // none of an earlier link with this number
	numbered_add(&n->links, &l->number, id);
	return l;
}

// Notes a state. Returns whether it makes a difference to routes.
static bool link_set(struct mirror_nexthops *n, struct link *l, bool up, bool running)
{
	bool differs = l->up != up || l->running != running;

	if (l->up && !up)
		l->life = ++n->lives;
	if (l->running && !running)
		l->running_life = ++n->lives;
	l->up = up;
	l->running = running;
	n->epoch += differs;
	return differs;
}

bool mirror_link_apply(struct mirror_nexthops *n, const struct mirror_message *m, bool dumped)
{
	struct link *l = numbered_find(&n->links, m->id);
	bool known = l != NULL && !l->number.removed, differs;

	if (dumped && l != NULL && l->number.round == n->round)
		return false; // a message was newer
	if (l == NULL)
		l = link_add(n, m->id);
	if (l == NULL)
		return true;
	l->number.round = n->round;
	l->number.removed = m->removed;
	if (strcmp(l->name, m->name) != 0)
		link_set(n, l, false, false); // the owner of a mirror knows links by name
	memcpy(l->name, m->name, sizeof(l->name));
	differs = link_set(n, l, m->up && !m->removed, m->running && !m->removed) ||
		  l->master != m->master || known == m->removed;
	l->master = m->master;
	return differs;
}

static void link_purge(struct mirror_nexthops *n, struct numbered *of)
{
	if (!of->removed && of->round == n->round)
		return;
	link_set(n, container_of(of, struct link, number), false, false);
	link_free(n, of);
}

void mirror_links_purge(struct mirror_nexthops *n)
{
	numbered_each(n, &n->links, link_purge);
}

// Whether a next hop of a route, or that of an object, is on a link that has been up since.
static bool hop_is_alive(
	const struct mirror_nexthops *n, const struct mirror_hop *hop, bool of_object)
{
	const struct link *l = link_find(n, hop->link);

	if (l == NULL || !l->up)
		return false;
	return of_object ? l->running && l->running_life == hop->life : l->life == hop->life;
}

// --- objects ---

static void object_free(struct mirror_nexthops *n, struct numbered *of)
{
	struct object *o = container_of(of, struct object, number);

	n->n_object_hops -= o->head.n_hops;
	numbered_remove(&n->objects, of);
	free(o);
}

static const struct object *object_find(const struct mirror_nexthops *n, uint32_t id, uint32_t life)
{
	const struct object *o = numbered_find(&n->objects, id);

	return o != NULL && !o->number.removed && o->life == life ? o : NULL;
}

// A member of a group is an object; its own next hop is on a link.
static const struct mirror_hop *member_hop(
	const struct mirror_nexthops *n, const struct mirror_hop *member)
{
	const struct object *o = object_find(n, member->link, member->life);

	// A next hop that is dead already is left out of its object.
	if (o == NULL || o->head.kind != MIRROR_HOPS || o->head.group || o->head.n_hops == 0)
		return NULL;
	return hop_is_alive(n, &o->hop[0], true) ? &o->hop[0] : NULL;
}

// Whether an object still exists as far as links show.
static bool object_is_alive(const struct mirror_nexthops *n, const struct object *o)
{
	if (o->number.removed || o->head.kind != MIRROR_HOPS)
		return !o->number.removed;
	for (uint32_t i = 0; i < o->head.n_hops; i++)
		if (o->head.group ? member_hop(n, &o->hop[i]) != NULL
				  : hop_is_alive(n, &o->hop[i], true))
			return true;
	return false;
}

static void object_lives_set(const struct mirror_nexthops *n, struct object *o)
{
	for (uint32_t i = 0; i < o->head.n_hops; i++) {
		const struct link *l = link_find(n, o->hop[i].link);
		const struct object *member = numbered_find(&n->objects, o->hop[i].link);

		if (o->head.group)
			o->hop[i].life = member != NULL ? member->life : 0;
		else
			o->hop[i].life = l != NULL ? l->running_life : 0;
	}
}

static struct object *object_new(struct mirror_nexthops *n, const struct mirror_message *m)
{
	struct object *o;

	if (n->objects.n_nodes >= n->max || n->n_object_hops + m->path.n_hops > n->max)
		return NULL;
	o = calloc(1, sizeof(*o) + m->path.n_hops * sizeof(o->hop[0]));
	if (o == NULL)
		return NULL;
	o->head = m->path;
	memcpy(o->hop, m->hop, m->path.n_hops * sizeof(o->hop[0]));
	object_lives_set(n, o);
	return o;
}

static bool object_is_same(const struct object *a, const struct object *b)
{
	return memcmp(&a->head, &b->head, sizeof(a->head)) == 0 &&
	       memcmp(a->hop, b->hop, a->head.n_hops * sizeof(a->hop[0])) == 0;
}

// Puts an object in the place of the former one, if there was one. Returns whether paths differ.
static bool object_replace(
	struct mirror_nexthops *n, struct object *former, struct object *o, uint32_t id)
{
	bool lives = former != NULL && object_is_alive(n, former), differs = true;

	// If the former one is gone, so are its routes, also if the number is used again.
	o->life = lives ? former->life : ++n->lives;
	o->number.round = n->round;
	if (former != NULL) {
		differs = !lives || !object_is_same(former, o);
		object_free(n, &former->number);
	}
	numbered_add(&n->objects, &o->number, id);
	n->n_object_hops += o->head.n_hops;
	n->epoch += differs;
	return differs;
}

static void object_remove(struct mirror_nexthops *n, struct object *o)
{
	o->number.removed = true;
	o->number.round = n->round;
	n->epoch++;
}

bool mirror_object_apply(struct mirror_nexthops *n, const struct mirror_message *m, bool dumped)
{
	struct object *former = numbered_find(&n->objects, m->id), *o;

	if (dumped && former != NULL && former->number.round == n->round)
		return false;
	if (m->removed) {
		if (former != NULL)
			object_remove(n, former);
		return true;
	}
	o = object_new(n, m);
	if (o == NULL) { // its routes then lead nowhere
		if (former != NULL)
			object_remove(n, former);
		return true;
	}
	return object_replace(n, former, o, m->id);
}

static void object_purge(struct mirror_nexthops *n, struct numbered *of)
{
	if (!of->removed && of->round == n->round)
		return;
	n->epoch++;
	object_free(n, of);
}

void mirror_objects_purge(struct mirror_nexthops *n)
{
	numbered_each(n, &n->objects, object_purge);
}

void mirror_nexthops_close(struct mirror_nexthops *n)
{
	if (n->objects.segment != NULL)
		numbered_each(n, &n->objects, object_free);
	if (n->links.segment != NULL)
		numbered_each(n, &n->links, link_free);
	linear_hash_close(&n->objects);
	linear_hash_close(&n->links);
	mirror_paths_close(&n->paths);
}

// --- paths ---

void mirror_lives_set(const struct mirror_nexthops *n, struct mirror_message *m)
{
	const struct object *o =
		m->path.object != 0 ? numbered_find(&n->objects, m->path.object) : NULL;

	m->path.object_life = o != NULL && !o->number.removed ? o->life : 0;
	for (uint32_t i = 0; i < m->path.n_hops; i++) {
		const struct link *l = link_find(n, m->hop[i].link);

		m->hop[i].life = l != NULL ? l->life : 0;
	}
}

// The present next hops of a path, with the lives of their links.
struct present {
	struct mirror_path_head head;
	struct mirror_hop hop[MIRROR_HOPS_MAX];
};

static void hop_note(const struct mirror_nexthops *n, struct present *p,
	const struct mirror_hop *hop, uint16_t weight)
{
	struct mirror_hop *noted = &p->hop[p->head.n_hops++];

	*noted = *hop;
	noted->weight = weight;
	noted->life = link_find(n, hop->link)->life;
}

static void object_note(const struct mirror_nexthops *n, struct present *p, const struct object *o)
{
	p->head.kind = o->head.kind;
	p->head.unused = o->head.unused;
	for (uint32_t i = 0; o->head.kind == MIRROR_HOPS && i < o->head.n_hops; i++) {
		const struct mirror_hop *hop = &o->hop[i];

		if (o->head.group)
			hop = member_hop(n, hop);
		else if (!hop_is_alive(n, hop, true))
			hop = NULL;
		if (hop != NULL)
			hop_note(n, p, hop, o->hop[i].weight);
	}
}

// Returns whether the path leads anywhere.
static bool present_find(
	const struct mirror_nexthops *n, struct present *p, const struct mirror_path *path)
{
	const struct object *o;

	p->head = path->head;
	p->head.n_hops = 0;
	if (path->head.kind == MIRROR_OBJECT) {
		p->head.object = p->head.object_life = 0;
		o = object_find(n, path->head.object, path->head.object_life);
		if (o == NULL)
			return false;
		object_note(n, p, o);
	} else if (path->head.kind == MIRROR_HOPS) {
		for (uint32_t i = 0; i < path->head.n_hops; i++)
			if (hop_is_alive(n, &path->hop[i], false))
				hop_note(n, p, &path->hop[i], path->hop[i].weight);
	}
	return p->head.kind != MIRROR_HOPS || p->head.n_hops > 0;
}

struct mirror_path *mirror_path_resolve(struct mirror_nexthops *n, struct mirror_path *path)
{
	struct mirror_path *found = NULL;
	struct present p;

	if (path->resolved_epoch == n->epoch)
		return path->resolved;
	if (present_find(n, &p, path))
		found = mirror_path_get(&n->paths, &p.head, p.hop);
	if (path->resolved != path)
		mirror_path_release(&n->paths, path->resolved);
	if (found == path)
		path->refs--; // it needs none of itself
	path->resolved = found;
	path->resolved_epoch = n->epoch;
	return found;
}
