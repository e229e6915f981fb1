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

// Takes the names of key files out of the text: they are no setting of a configuration.
static const char **key_files_take(config_setting_t *root, unsigned int *n)
{
	const config_setting_t *list = conf_member(root, CONF_KEY_FILES);
	const char **names;

	*n = list != NULL ? (unsigned int)config_setting_length(list) : 0;
	names = conf_alloc(*n + 1, sizeof(names[0]));
	for (unsigned int i = 0; i < *n; i++) {
		const char *name = config_setting_get_string_elem(list, (int)i);

		names[i] = name != NULL && name[0] != '\0' ? conf_strdup(name) : NULL;
	}
	if (list != NULL)
		config_setting_remove(root, CONF_KEY_FILES);
	return names;
}

static void key_files_put(struct conf *c, const char **names, unsigned int n)
{
	for (unsigned int i = 0; i < RTE_MIN(n, c->n_sas); i++)
		if (names[i] != NULL)
			c->tree->key_files[i] = names[i];
}

static void revision_read(struct conf_reader *r)
{
	const struct conf_revision *revision = ((struct reading *)r)->revision;
	const struct conf_where where = {conf_strdup(revision->name), 1};
	const char **key_files;
	unsigned int n_key_files;

	conf_begin(r, conf_folder(revision->conf_path));
	if (!conf_text_read(r, &r->c->tree->file, revision->text, revision->len, where))
		return;
	key_files = key_files_take(config_root_setting(&r->c->tree->file), &n_key_files);
	conf_read(r);
	if (r->n_messages == 0)
		key_files_put(r->c, key_files, n_key_files);
	if (r->replaced != NULL)
		conf_check_restart(r, r->replaced);
	if (revision->instead_of != NULL)
		conf_check_restart(r, revision->instead_of);
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
