// SPDX-License-Identifier: BSD-3-Clause
// Changes of a configuration: items that are added, set and deleted. A request makes a list of
// them, of culvertctl or of an IKE daemon (conf_ike.h); the difference of two configurations is
// such a list, and so are the changes by operators that the file may lack. As text they are a
// record, in lines, which another machine can apply:
//
//   sa add { SETTINGS }                    SETTINGS as in the file
//   sa set NAME { SETTINGS }               these; the others stay
//   sa del NAME
//   policy add before NAME { SETTINGS }    or: after NAME, first, last, which is the default
//
// and the same with policy, rule, neighbour (whose NAME is its address, and perhaps "port PORT")
// and route (whose NAME is its target, and perhaps "source ADDRESS"). Where order decides, among
// policies and rules, it can be chosen. Control thread.
#pragma once

#include "conf.h"

// CONF_FLUSH: all items of an IKE daemon are deleted.
enum conf_verb { CONF_ADD, CONF_SET, CONF_DEL, CONF_FLUSH };

enum conf_place { CONF_LAST, CONF_FIRST, CONF_BEFORE, CONF_AFTER };

struct config_setting_t;

struct conf_change {
	struct conf_where
		where; // in the record; of a difference, in the newer file, if it is there
	enum conf_verb verb;
	enum conf_kind kind; // CONF_KINDS: a setting at the top of the file
	// Of the item, as a record has it: "to-b", "192.0.2.2", "fe80::1 port wan". NULL: it is in
	// settings.
	const char *name;
	enum conf_place place; // of an item that is added
	const char *beside;    // with CONF_BEFORE, CONF_AFTER: the name of this item
	// The group of settings of an item that is added, or that are set; of a difference, all of
	// the item.
	const struct config_setting_t *settings;

	// The rest is of differences. An item that has changed has a CONF_SET for each setting, and
	// one without a setting if its place among the others has changed.
	unsigned int was,
		item;        // its numbers in the older and the newer list, as far as it is there
	const char *setting; // "lifetime.soft_bytes"
	// The values of the setting as in the file or by default. NULL: it has none, or is a key,
	// which is never shown. Both NULL, and no key: it has no value in either; a value derived
	// from other settings has changed.
	const char *from, *to;
	const char *key_file; // that the keys of an SA were read from; NULL: none
	bool secret;          // the setting is a key
	bool restart;         // is for the next start, not for a reload
	bool unsaved;         // the changed setting was changed at run time
};

struct conf_changes {
	struct conf_change *change;
	unsigned int n;
	struct conf_arena *arena; // private: memory of the list
};

// The changes that make one configuration of another, as a reload would. Of a list whose order has
// changed, as few moved items as explain the new order. Refers to both, which must outlive it.
// Returns NULL without memory.
struct conf_changes *conf_diff(const struct conf *from, const struct conf *to);

// How many items and settings of a running configuration were changed at run time, so that the file
// may lack them. A reload begins at 0 again.
unsigned int conf_unsaved_count(const struct conf *conf);

// Adds a change to a list, for a caller inside lib/conf that runs in an arena.
void conf_changes_add(struct conf_changes *list, struct conf_change c);

// NULL is allowed.
void conf_changes_free(struct conf_changes *list);

// The word for a difference: "added", "removed", "changed", "moved".
const char *conf_change_word(const struct conf_change *c);

// Describes a difference in words, without the values: 'policy "to-b": remote changed'.
void conf_change_describe(char *text, size_t size, const struct conf_change *c);

// Writes a difference as a record, with all keys. Differences that a record cannot make are
// comments in it.
void conf_changes_write(const struct conf_changes *list, FILE *out);
