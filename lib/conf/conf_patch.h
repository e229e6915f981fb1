// SPDX-License-Identifier: BSD-3-Clause
// Changes of the octets of the files of a configuration, which leave everything else as it is.
// Private to lib/conf, inside an arena.
#pragma once

#include "conf_span.h"

struct conf_patch {
	unsigned int file, number; // in the order in which they were added
	size_t at, removed;        // octets of the file
	const char *text;          // in their spot
};

struct conf_patches {
	const struct conf_texts *texts;
	struct conf_patch *patch;
	unsigned int n;
};

// Where something can be inserted: on lines of its own, or among others on one line.
struct conf_gap {
	struct conf_spot spot;
	bool lines;
	const char *newline; // of the file: "\n" or "\r\n"
	const char *indent;  // of such a line
};

// After a setting or an element, and after the bracket that opens a value.
struct conf_gap conf_gap_after(const struct conf_texts *texts, const struct conf_span *s);
struct conf_gap conf_gap_within(const struct conf_texts *texts, const struct conf_span *s);

// After the config file; lines: it ends without a newline.
struct conf_gap conf_gap_at_end(const struct conf_texts *texts);

// The indent of the first member, if that begins a line; else NULL.
const char *conf_patch_indent(const struct conf_texts *texts, const struct conf_span *s);

void conf_patch_add(
	struct conf_patches *list, struct conf_spot spot, size_t removed, const char *text);

// Inserts a text and, after it, the mark (or "").
void conf_patch_insert(
	struct conf_patches *list, const struct conf_gap *gap, const char *text, const char *mark);

// Removes a setting or an element with its mark, and with the lines that have nothing else but
// comments after it. It must be whole.
void conf_patch_remove(struct conf_patches *list, const struct conf_span *s);

// An element that moves takes along the comments directly above and after it. From (where the
// spot before ends, if that is in the file) begins the text that may be such comments. It must be
// whole. Returns its text after its own patches, with or without a comma.
const char *conf_patch_move(struct conf_patches *list, const struct conf_span *s,
	const struct conf_spot *from, const struct conf_patches *own, const struct conf_gap *to,
	bool comma);

// Sorts the patches in the order of files and octets. False if two of them overlap.
bool conf_patches_sort(struct conf_patches *list);

// The texts after all patches, which are sorted.
struct conf_texts conf_patches_apply(const struct conf_patches *list);
