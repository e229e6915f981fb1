// SPDX-License-Identifier: BSD-3-Clause
#include <stdlib.h>

#include "conf_match.h"
#include "conf_rewrite_items.h"
#include "conf_schema.h"

// An item that runs, in the order of the list that is written.
struct entry {
	int was;           // in the file; -1: it is new
	unsigned int item; // among the running items
	bool stays;
	unsigned int after; // of a list without order: this many items of the file are before it
};

struct list {
	struct conf_rewriting *w;
	enum conf_kind kind;
	const struct conf_span *span; // NULL: the file has none
	struct conf_side from, to;
	bool *was_found;     // by number in the file
	struct entry *entry; // to.n of them
};

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->after != y->after)
		return x->after < y->after ? -1 : 1;
	if (x->stays != y->stays)
		return x->stays ? -1 : 1;
	return x->item < y->item ? -1 : 1;
}

// Where order has no meaning, items stay, and the new ones follow the same item as at run time.
static void entries_make(struct list *l)
{
	bool ordered = conf_kinds[l->kind].ordered;
	int *index = conf_items_match(&l->from, &l->to, l->was_found);
	bool *in_order = conf_items_in_order(index, l->to.n);
	unsigned int after = 0;

	l->entry = conf_alloc(l->to.n + 1, sizeof(l->entry[0]));
	for (unsigned int i = 0; i < l->to.n; i++) {
		if (index[i] >= 0)
			after = (unsigned int)index[i] + 1;
		l->entry[i] =
			(struct entry){index[i], i, ordered ? in_order[i] : index[i] >= 0, after};
	}
	if (!ordered)
		qsort(l->entry, l->to.n, sizeof(l->entry[0]), compare_entries);
}

static bool is_whole(struct list *l, unsigned int was)
{
	const struct conf_span *s = &l->span->member[was];

	if (conf_span_is_whole(&s->begin, &s->end))
		return true;
	conf_err_at(l->w->r, conf_where(conf_tree_item(l->from.tree, l->kind, was)), NULL,
		"this %s is in several files: edit them by hand", conf_kinds[l->kind].noun);
	return false;
}

// Where the element before ends, or the bracket.
static struct conf_spot spot_before(const struct list *l, unsigned int was)
{
	const struct conf_span *before = was > 0 ? &l->span->member[was - 1] : NULL;

	if (before == NULL)
		return l->span->value;
	return before->has_mark ? before->mark : before->end;
}

static const char *entry_move(
	struct list *l, const struct entry *e, const struct conf_gap *gap, bool comma)
{
	const struct conf_span *span = &l->span->member[e->was];
	struct conf_patches own = {.texts = l->w->texts};
	struct conf_spot before = spot_before(l, (unsigned int)e->was);

	if (!is_whole(l, (unsigned int)e->was))
		return "";
	conf_rewrite_item(l->w, &own, l->kind, span, (unsigned int)e->was, e->item);
	conf_patches_sort(&own);
	return conf_patch_move(&l->w->patches, span, &before, &own, gap, comma);
}

static void entry_insert(
	struct list *l, const struct entry *e, const struct conf_gap *gap, bool comma)
{
	struct conf_patches *patches = &l->w->patches;
	const struct conf_span *sample = l->span->n > 0 ? &l->span->member[0] : NULL;
	const char *indent = gap->lines ? conf_patch_indent(l->w->texts, sample) : NULL;

	if (e->was >= 0)
		conf_patch_insert(patches, gap, entry_move(l, e, gap, comma), "");
	else
		conf_patch_insert(patches, gap,
			conf_rewrite_text(l->w, l->kind, e->item, gap, indent), comma ? "," : "");
}

// Commas are between elements alone.
static void comma_patch(struct conf_patches *patches, const struct conf_span *s, bool comma)
{
	if (s->has_mark && !comma)
		conf_patch_add(patches, s->mark, 1, "");
	else if (!s->has_mark && comma)
		conf_patch_add(patches, s->end, 0, ",");
}

static void entries_patch(struct list *l)
{
	struct conf_gap gap = conf_gap_within(l->w->texts, l->span);

	for (unsigned int i = 0; i < l->to.n; i++) {
		const struct entry *e = &l->entry[i];
		bool comma = i + 1 < l->to.n;

		if (!e->stays) {
			entry_insert(l, e, &gap, comma);
			continue;
		}

		const struct conf_span *s = &l->span->member[e->was];

		comma_patch(&l->w->patches, s, comma);
		conf_rewrite_item(l->w, &l->w->patches, l->kind, s, (unsigned int)e->was, e->item);
		gap = conf_gap_after(l->w->texts, s);
	}
}

static void list_patch(struct list *l)
{
	for (unsigned int i = 0; i < l->from.n; i++)
		if (!l->was_found[i] && is_whole(l, i))
			conf_patch_remove(&l->w->patches, &l->span->member[i]);
	entries_patch(l);
}

// At the end of the config file.
static void list_append(struct list *l)
{
	const struct conf_gap gap = conf_gap_at_end(l->w->texts);
	struct conf_patches *patches = &l->w->patches;

	conf_patch_add(patches, gap.spot, 0,
		conf_format("%s%s = (", gap.lines ? gap.newline : "", conf_kinds[l->kind].list));
	for (unsigned int i = 0; i < l->to.n; i++)
		conf_patch_add(patches, gap.spot, 0,
			conf_format("%s  %s%s", gap.newline,
				conf_rewrite_text(l->w, l->kind, i, &gap, NULL),
				i + 1 < l->to.n ? "," : ""));
	conf_patch_add(patches, gap.spot, 0, conf_format("%s);%s", gap.newline, gap.newline));
}

void conf_rewrite_kind(struct conf_rewriting *w, enum conf_kind kind)
{
	struct list l = {.w = w,
		.kind = kind,
		.span = conf_span_member(&w->all, conf_kinds[kind].list),
		.from = conf_side_of(w->file, kind),
		.to = conf_side_of(w->running, kind)};

	l.was_found = conf_alloc(l.from.n + 1, sizeof(l.was_found[0]));
	entries_make(&l);
	if (l.span != NULL)
		list_patch(&l);
	else if (l.to.n > 0)
		list_append(&l);
}
