// SPDX-License-Identifier: BSD-3-Clause
// The text of a record: the grammar that conf_change.h and conf_ike.h describe. Private to
// lib/conf, control thread.
#pragma once

#include "conf_change.h"
#include "conf_schema.h"

#define CONF_WORDS_MAX 6 // of a change: neighbour set ADDRESS port NAME, and one too many

// One change as it stands in a record. Texts are in the memory of the configuration that is being
// made.
struct conf_words {
	struct conf_where where;
	const char *word[CONF_WORDS_MAX + 1]; // NULL after the last
	unsigned int n;
	// The text between { and }, and its beginning; NULL: nothing is added or set.
	const char *settings;
	size_t settings_len;
	struct conf_where settings_where;
};

// The unread rest of a record; ends with NUL.
struct conf_record {
	struct conf_reader *r;
	const char *p;
	struct conf_where where, start;
	unsigned int n; // changes so far
};

// Begins with the text of a request. False, after a message, if it is none.
bool conf_record_begin(struct conf_record *in, struct conf_reader *r);

// Reads the words and finds the settings of the next change, and reports settings that do not end,
// and a record without a change. False after the last.
bool conf_record_next(struct conf_record *in, struct conf_words *w);

// Interprets the words, of an IKE daemon or not. False after a message.
bool conf_change_parse(struct conf_reader *r, const struct conf_words *w, struct conf_change *c);

// Parses the settings of the change, if it has some. False after a message. In any case the caller
// hands *settings to config_destroy(), which wipes keys.
bool conf_change_settings(struct conf_reader *r, const struct conf_words *w, struct conf_change *c,
	config_t *settings);

// Adds an item with copies of the settings of c as the last one to its list below r->root. Returns
// the list.
config_setting_t *conf_change_add(struct conf_reader *r, const struct conf_change *c);
