// SPDX-License-Identifier: BSD-3-Clause
// The kernel's links, next-hop objects and groups of these, as messages describe them, and the next
// hops that a path has through them at present. A link that goes down takes next hops and objects
// with it, and the routes by these, with no message about them: therefore links and objects have
// lives, and a next hop belongs to one. Control thread.
#pragma once

#include "mirror_message.h"
#include "mirror_path.h"

struct mirror_nexthops {
	struct linear_hash links, objects;
	struct mirror_paths paths;
	unsigned int n_objects, n_object_hops, max;
	uint32_t lives; // begun so far
	uint32_t epoch; // changes when a path may have other next hops
	uint8_t round;  // of the dump in progress, or of the last one
};

// Returns 0 or -errno. max: objects, their next hops, and next hops of paths.
int mirror_nexthops_open(struct mirror_nexthops *n, unsigned int max);

// Sets the limit. No entry is removed.
void mirror_nexthops_limit(struct mirror_nexthops *n, unsigned int max);

// All paths have been released.
void mirror_nexthops_close(struct mirror_nexthops *n);

// Applies a message about a link. dumped: it is part of a dump, and older than other messages that
// arrived since the dump began. Returns whether the kernel may have changed routes silently.
bool mirror_link_apply(struct mirror_nexthops *n, const struct mirror_message *m, bool dumped);

// The same for a message about an object.
bool mirror_object_apply(struct mirror_nexthops *n, const struct mirror_message *m, bool dumped);

// Removes the links, or the objects, that the dump in progress lacked.
void mirror_links_purge(struct mirror_nexthops *n);
void mirror_objects_purge(struct mirror_nexthops *n);

// Enters the present lives of links and objects in a message about a route.
void mirror_lives_set(const struct mirror_nexthops *n, struct mirror_message *m);

// The path without objects and without next hops that are gone, which lives as long as the path, or
// until the epoch changes. NULL: none of its next hops is left, or there is no memory.
struct mirror_path *mirror_path_resolve(struct mirror_nexthops *n, struct mirror_path *path);

// The name of a link; NULL: there is none.
const char *mirror_link_name(const struct mirror_nexthops *n, uint32_t link);
