// SPDX-License-Identifier: BSD-3-Clause
// The text of a request: the grammar that conf_change.h and conf_ike.h describe. Private to
// lib/conf, control thread.
#pragma once

#include "conf_schema.h"

#define CONF_CHANGE_WORDS_MAX 6 // of a change: neighbour set ADDRESS port NAME, and one too many
#define CONF_CHANGE_LISTS_MAX 5 // that changes of a request can be about

enum conf_place { CONF_LAST, CONF_FIRST, CONF_BEFORE, CONF_AFTER };

// One change, which stands in text of the request. Texts are in the memory of the configuration
// that is being made.
struct conf_change {
	struct conf_where where;
	const char *word[CONF_CHANGE_WORDS_MAX + 1]; // NULL behind the last
	unsigned int n_words;
	// What stands between { and }, and where it begins; NULL: nothing is added or set.
	const char *settings;
	size_t settings_len;
	struct conf_where settings_where;

	// What the words mean:
	enum conf_verb verb;            // never CONF_FLUSH
	const struct conf_option *list; // of conf_schema
	const char *item;               // that is set or deleted; NULL: one is added
	const char *scope;              // "wan" of "port wan"; NULL: does not matter
	enum conf_place place;          // for the one that is added
	const char *beside;             // with CONF_BEFORE, CONF_AFTER: this item
};

// What has not been read yet of a request; ends with NUL.
struct conf_change_text {
	struct conf_reader *r;
	const char *p;
	struct conf_where where, start;
};

// Begins with a text of len octets, which messages call by that name. False, after a message, if it
// is none.
bool conf_change_begin(struct conf_change_text *in, struct conf_reader *r, const char *name,
	const char *text, size_t len);

// Reads the words and finds the settings of the next change, and reports those that do not end.
// False behind the last.
bool conf_change_next(struct conf_change_text *in, struct conf_change *c);

// Says what the words mean, which may be about these lists (the last one is NULL). False after a
// message.
bool conf_change_parse(struct conf_reader *r, struct conf_change *c, const char *const lists[]);

// Adds an item with copies of these settings as the last one to its list below r->root. Returns the
// list.
config_setting_t *conf_change_add(
	struct conf_reader *r, const struct conf_change *c, const config_setting_t *settings);
