// SPDX-License-Identifier: BSD-3-Clause
// Where each setting stands in the texts of a configuration that libconfig has accepted: it keeps
// lines alone. An included file is read where its name stands, as libconfig does. Private to
// lib/conf, inside an arena.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "conf_text.h"

// A spot in one of the texts.
struct conf_spot {
	unsigned int file;
	unsigned int opened; // files that begin before it
	size_t at;
};

// A setting of a group, or an element of an array or list.
struct conf_span {
	const char *name; // NULL: of an element, and of all settings together
	size_t name_len;
	char bracket;                // that opens the value; 0: it has none
	struct conf_spot begin, end; // with its name, without the mark
	struct conf_spot value;      // its first octet
	bool has_mark;               // the semicolon or comma that ends it
	struct conf_spot mark;
	struct conf_span *member;
	unsigned int n;
};

// Finds all settings. texts: the config file, and its included files in the order in which these
// are read. False if the texts are not those of a configuration.
bool conf_span_read(struct conf_span *all, const struct conf_texts *texts);

// The setting of this name; NULL if there is none, or if group is NULL.
const struct conf_span *conf_span_member(const struct conf_span *group, const char *name);

// Whether the octets from begin to end are of one file, with no other one included between them.
bool conf_span_is_whole(const struct conf_spot *begin, const struct conf_spot *end);

// One text of all: their tokens, without comments and names of files.
const char *conf_texts_join(const struct conf_texts *texts, size_t *len);
