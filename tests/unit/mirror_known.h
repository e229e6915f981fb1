// SPDX-License-Identifier: BSD-3-Clause
// The owner of a mirror of routes, for tests: knows the routes by the changes that it is called
// for.
#pragma once

#include "mirror_store.h"

struct mirror_known {
	void *all; // by search.h of the C library
	unsigned int n;
	uint64_t changes;
};

// The function to be called for changes; known: struct mirror_known. Fails if it is no change.
void mirror_known_changed(void *known, const struct ip_prefix *to, const struct mirror_path *path);

// The path of a prefix. NULL: none.
const struct mirror_path *mirror_known_path(
	const struct mirror_known *known, const struct ip_prefix *to);

// Fails unless a store has the same prefixes, with the same paths.
void mirror_known_check(const struct mirror_known *known, const struct mirror_store *s);

void mirror_known_free(struct mirror_known *known);
