// SPDX-License-Identifier: BSD-3-Clause
// The same items in two configurations. Private to lib/conf, inside an arena.
#pragma once

#include "conf_reader.h"

struct conf_named {
	const char *name;
	unsigned int index;
};

// The items of a kind in one configuration.
struct conf_side {
	enum conf_kind kind;
	const struct conf_tree *tree;
	const char *items;
	unsigned int n;
	struct conf_named *named; // in order of the file
};

struct conf_side conf_side_of(const struct conf *c, enum conf_kind kind);

// By index of to: the same item in from; -1: it is new. was_found is by index of from.
int *conf_items_match(const struct conf_side *from, const struct conf_side *to, bool *was_found);

// By index of to: items that stay while the others move around them, the longest sequence that
// ascends in from as well.
bool *conf_items_in_order(const int *index, unsigned int n);
