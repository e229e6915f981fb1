// SPDX-License-Identifier: BSD-3-Clause
// The syntax of requests, see conf_change.h. Private to lib/conf, control thread only.
#pragma once

#include "conf_schema.h"

enum conf_verb { CONF_ADD, CONF_SET, CONF_DEL };

enum conf_place { CONF_LAST, CONF_FIRST, CONF_BEFORE, CONF_AFTER };

// One change. Texts are in the memory of the configuration that is being made.
struct conf_request {
	struct conf_where where;
	enum conf_verb verb;
	const struct conf_option *list; // of conf_schema
	const char *item;               // that is set or deleted; NULL: one is added
	const char *scope;              // "wan" of "port wan"; NULL: does not matter
	enum conf_place place;          // for the one that is added
	const char *beside;             // with CONF_BEFORE, CONF_AFTER: this item
	// What stands between { and }, and where it begins; NULL: nothing is added or set.
	const char *settings;
	size_t settings_len;
	struct conf_where settings_where;
};

struct conf_request_reader {
	struct conf_reader *r;
	const char *p; // what has not been read yet; ends with NUL
	struct conf_where where;
};

// Reads the next change that is right, and reports those that are not. False behind the last.
bool conf_request_next(struct conf_request_reader *in, struct conf_request *out);
