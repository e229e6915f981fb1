// SPDX-License-Identifier: BSD-3-Clause
// Which items and settings were changed at run time, so that the file may lack them: a list of
// changes in the tree of the running configuration. Each change of it begins with a copy, and one
// from the file has none. It has at most an entry for each item of either, and for each setting of
// these. Private to lib/conf.
#pragma once

#include "conf_change.h"
#include "conf_schema.h"

void conf_unsaved_copy(struct conf_tree *to, const struct conf_tree *from);

// An item was added, its settings were set by c, it is deleted. before: the name it had until then.
void conf_unsaved_add(struct conf_tree *tree, enum conf_kind kind, const char *name);
void conf_unsaved_set(struct conf_tree *tree, const struct conf_change *c, const char *before,
	const config_setting_t *item);

// A difference of a setting, at the top of the file as well, or of an item's place.
void conf_unsaved_differs(struct conf_tree *tree, const struct conf_change *d);

// name: in memory of the configuration; it is handed over. Takes no memory after
// conf_unsaved_reserve().
void conf_unsaved_del(struct conf_tree *tree, enum conf_kind kind, const char *name);

// Takes the memory that another entry needs.
void conf_unsaved_reserve(struct conf_tree *tree);

// Whether a difference to another configuration is about one of these.
bool conf_unsaved_has(const struct conf_tree *tree, const struct conf_change *d);
