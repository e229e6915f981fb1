// SPDX-License-Identifier: BSD-3-Clause
// The table of routes, and the routes of one prefix in it, for mirror_store.c. They are neighbours
// in a chain of the table, sorted as the kernel searches them: by metric, then in its own order.
// Control thread.
#pragma once

#include <rte_common.h>

#include "mirror_nexthop.h"

// A route of the kernel. There are a million of them: malloc() gives one of IPv4 48 octets.
struct mirror_route {
	struct linear_node node; // value: the metric
	struct mirror_path *path;
	struct mirror_path *shown; // to the owner; only in the first route of a prefix
	uint8_t len;
	uint8_t protocol;
	uint8_t round;    // of the dump that had the route, or during which there was a message
	bool is_v4 : 1;   // addr has one word, otherwise four
	bool removed : 1; // by a message during a dump, whose record of it may be older
	rte_be32_t addr[];
};

// Another path for a prefix. NULL: none.
typedef void mirror_changed(void *arg, const struct ip_prefix *to, const struct mirror_path *path);

struct mirror_store {
	struct linear_hash routes;
	struct hash_key key;
	struct mirror_nexthops nexthops;
	mirror_changed *changed;
	void *arg;
	unsigned int n, max;                        // routes that the kernel has
	unsigned int over;                          // further ones, for which there is no room
	unsigned int over_dumped;                   // of these, in the dump in progress
	unsigned int unused[MIRROR_UNUSED_REASONS]; // of n, by reason
	bool dumping;
	bool doubtful; // messages since the last dump began do not match the routes: compare them
	// Buckets from the cursor on that are still to be visited: to resolve paths, and to remove
	// routes that the last dump lacked.
	bool again; // the owner is called for these also if it knows the path
	unsigned int cursor, resolve_left, purge_left, buckets_seen;
	uint32_t epoch; // that paths are resolved for
};

struct mirror_group {
	struct linear_node **first; // its place in the chain, also if there is no route yet
	struct ip_prefix to;
	uint32_t hash;
	struct mirror_path *shown; // to the owner, before the change
};

struct ip_prefix mirror_route_to(const struct mirror_route *r);

static inline struct mirror_route *mirror_route_of(struct linear_node *node)
{
	return container_of(node, struct mirror_route, node);
}

// Finds the routes of a prefix: sets all but shown.
void mirror_group_find(
	const struct mirror_store *s, struct mirror_group *g, const struct ip_prefix *to);

// Begins a change of the routes, which mirror_group_settle() ends: meanwhile no route has the path
// that the owner knows.
void mirror_group_take(struct mirror_group *g);

// The route of the group that the kernel uses at present. NULL: none.
const struct mirror_route *mirror_group_used(struct mirror_store *s, const struct mirror_group *g);

// Calls the owner if the group has another path than before.
void mirror_group_settle(struct mirror_store *s, struct mirror_group *g);

// The route at a place of the chain. NULL: none, or one of another group.
struct mirror_route *mirror_group_at(const struct mirror_group *g, struct linear_node *const *at);

// The route with the metric of the message and this path, removed or not. NULL: there is none.
struct linear_node **mirror_group_same(const struct mirror_group *g, const struct mirror_message *m,
	const struct mirror_path *path);

// Adds a route by a path, before or after the others of its metric. Returns whether there was room;
// path NULL: there was none for it.
bool mirror_route_add(struct mirror_store *s, struct mirror_group *g,
	const struct mirror_message *m, struct mirror_path *path, bool before);

// Links a route again that was unlinked.
void mirror_route_insert(const struct mirror_group *g, struct mirror_route *r, bool before);

// Notes that a message has removed a route, or that the kernel has it after all.
void mirror_route_set_removed(struct mirror_store *s, struct mirror_route *r, bool removed);

// A message has removed a route: frees it, unless a dump in progress may still have it.
void mirror_route_remove(struct mirror_store *s, struct linear_node **at);

// Unlinks and frees a route, of which the owner knows no path.
void mirror_route_free(struct mirror_store *s, struct linear_node **at);
