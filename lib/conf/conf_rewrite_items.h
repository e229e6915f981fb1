// SPDX-License-Identifier: BSD-3-Clause
// The patches for the items of a configuration (conf_rewrite.h). Private to lib/conf, inside an
// arena.
#pragma once

#include "conf_patch.h"
#include "conf_reader.h"

// A stream for texts, outside the arena.
struct conf_scratch {
	FILE *out; // to text
	char *text;
	size_t len;
};

struct conf_rewriting {
	struct conf_reader *r; // for messages
	const struct conf *running, *file;
	const struct conf_texts *texts; // of the file
	struct conf_span all;
	struct conf_patches patches;
	struct conf_scratch *scratch;
};

// Adds the patches for the settings at the top of the file.
void conf_rewrite_top(struct conf_rewriting *w);

// Adds the patches for all items of a kind, and messages about items that cannot be patched.
void conf_rewrite_kind(struct conf_rewriting *w, enum conf_kind kind);

// Adds the patches for the settings of an item to a list; span: where it stands in the file.
void conf_rewrite_item(struct conf_rewriting *w, struct conf_patches *list, enum conf_kind kind,
	const struct conf_span *span, unsigned int was, unsigned int item);

// An item that the file lacks, on lines with this indent and its settings with the second one;
// NULL: on one line.
const char *conf_rewrite_text(struct conf_rewriting *w, enum conf_kind kind, unsigned int item,
	const struct conf_gap *gap, const char *indent);

// Reads the files of a configuration. False after a message.
bool conf_texts_read(struct conf_reader *r, struct conf_texts *texts, const struct conf_seen *seen);

// The configuration of these texts, whose files are in that folder. NULL after lines to errors.
struct conf *conf_texts_load(const struct conf_texts *texts, const char *dir, FILE *errors);
