// SPDX-License-Identifier: BSD-3-Clause
#include "conf_revision.h"

#include <string.h>

#include "conf_check.h"
#include "conf_unsaved.h"

// The reader is the first member, so that conf_make() hands it on with the rest.
struct reading {
	struct conf_reader r;
	const struct conf_revision *revision;
};

static void difference_note(struct conf_tree *tree, const struct conf_change *d)
{
	if (d->verb == CONF_ADD)
		conf_unsaved_add(tree, d->kind, d->name);
	else if (d->verb == CONF_DEL)
		conf_unsaved_del(tree, d->kind, conf_strdup(d->name));
	else
		conf_unsaved_differs(tree, d);
}

static void differences_note(struct conf_reader *r)
{
	struct conf_changes *list = conf_diff(r->running, r->c);

	if (list == NULL) {
		conf_err_at(r, conf_where(r->root), NULL, "out of memory to compare it");
		return;
	}
	conf_unsaved_copy(r->c->tree, r->running->tree);
	for (unsigned int i = 0; i < list->n; i++)
		difference_note(r->c->tree, &list->change[i]);
	conf_changes_free(list);
}

static void revision_read(struct conf_reader *r)
{
	const struct conf_revision *revision = ((struct reading *)r)->revision;
	const struct conf_where where = {conf_strdup(revision->name), 1};

	conf_begin(r, conf_folder(revision->conf_path));
	if (!conf_text_read(r, &r->c->tree->file, revision->text, revision->len, where))
		return;
	conf_read(r);
	if (r->replaced != NULL)
		conf_check_restart(r, r->replaced);
	if (revision->unsaved && r->n_messages == 0) {
		r->c->tree->seen = conf_seen_copy(r->running->tree->seen);
		differences_note(r);
	}
}

struct conf *conf_revision_read(
	const struct conf_revision *revision, const struct conf *running, FILE *errors)
{
	struct reading reading = {
		.r = {.name = revision->name, .running = running, .replaced = running},
		.revision = revision,
	};

	return conf_make(&reading.r, revision_read, errors);
}
