// SPDX-License-Identifier: BSD-3-Clause
// The routes of a table of the kernel, with all of their metrics, and for each prefix the path that
// the kernel uses at present. Its owner is called when that changes. Control thread.
#pragma once

#include "mirror_group.h"

// Returns 0 or -errno. max: routes, objects, and next hops of all together.
int mirror_store_open(struct mirror_store *s, unsigned int max, mirror_changed *changed, void *arg);

// Sets max. No route is removed.
void mirror_store_limit(struct mirror_store *s, unsigned int max);

// Forgets all routes; the owner is not called.
void mirror_store_close(struct mirror_store *s);

// Applies a message about a route of the table. wanted: its protocol is one of those to be
// followed. dumped: the message is part of a dump, and older than others that arrived since that
// began.
void mirror_store_apply(struct mirror_store *s, struct mirror_message *m, bool wanted, bool dumped);

// A dump begins, or has ended with all its records.
void mirror_store_dump_begins(struct mirror_store *s);
void mirror_store_dump_ended(struct mirror_store *s);

// Whether a dump may begin: routes that the former one lacked are removed.
bool mirror_store_is_settled(const struct mirror_store *s);

// Resolves paths after changes of links and objects, and removes routes, in that many buckets.
// Returns whether there is more to do.
bool mirror_store_work(struct mirror_store *s, unsigned int buckets);

// The route to a prefix that the kernel uses at present. NULL: none.
const struct mirror_route *mirror_store_find(struct mirror_store *s, const struct ip_prefix *to);

// Lets mirror_store_work() call the owner for all prefixes: it may use the paths differently now.
void mirror_store_again(struct mirror_store *s);

// Calls each with every prefix that has a path, and that path.
void mirror_store_each(const struct mirror_store *s, mirror_changed *each, void *arg);
