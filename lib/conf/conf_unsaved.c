// SPDX-License-Identifier: BSD-3-Clause
#include "conf_unsaved.h"

#include <string.h>

static void note(struct conf_tree *tree, struct conf_change c)
{
	c.name = c.name != NULL ? conf_strdup(c.name) : NULL;
	c.setting = c.setting != NULL ? conf_strdup(c.setting) : NULL;
	conf_changes_add(tree->unsaved, c);
}

void conf_unsaved_copy(struct conf_tree *to, const struct conf_tree *from)
{
	for (unsigned int i = 0; i < from->unsaved->n; i++)
		note(to, from->unsaved->change[i]);
}

unsigned int conf_unsaved_count(const struct conf *conf)
{
	return conf->tree->unsaved->n;
}

static bool is_item(const struct conf_change *c, enum conf_kind kind, const char *name)
{
	return c->kind == kind && conf_texts_equal(c->name, name);
}

static const struct conf_change *find(
	const struct conf_tree *tree, enum conf_kind kind, const char *name, const char *setting)
{
	for (unsigned int i = 0; i < tree->unsaved->n; i++) {
		const struct conf_change *c = &tree->unsaved->change[i];

		if (is_item(c, kind, name) && conf_texts_equal(c->setting, setting))
			return c;
	}
	return NULL;
}

static void note_once(struct conf_tree *tree, struct conf_change c)
{
	if (find(tree, c.kind, c.name, c.setting) == NULL)
		note(tree, c);
}

void conf_unsaved_add(struct conf_tree *tree, enum conf_kind kind, const char *name)
{
	note_once(tree, (struct conf_change){.verb = CONF_ADD, .kind = kind, .name = name});
}

void conf_unsaved_differs(struct conf_tree *tree, const struct conf_change *d)
{
	struct conf_change c = {.verb = CONF_SET, .kind = d->kind, .name = d->name};

	if (d->setting != NULL) // of one in a group, the group
		c.setting = conf_format("%.*s", (int)strcspn(d->setting, "."), d->setting);
	note_once(tree, c);
}

void conf_unsaved_reserve(struct conf_tree *tree)
{
	struct conf_changes *list = tree->unsaved;

	list->change = conf_resize(list->change, (2 * list->n + 1) * sizeof(list->change[0]));
}

// An item that the file does not have leaves no entry.
void conf_unsaved_del(struct conf_tree *tree, enum conf_kind kind, const char *name)
{
	const struct conf_change *item = find(tree, kind, name, NULL);
	bool added = item != NULL && item->verb == CONF_ADD;
	struct conf_changes *list = tree->unsaved;
	unsigned int n = 0;

	for (unsigned int i = 0; i < list->n; i++)
		if (!is_item(&list->change[i], kind, name))
			list->change[n++] = list->change[i];
		else
			conf_dealloc((char *)list->change[i].name);
	list->n = n;
	if (!added)
		conf_changes_add(
			list, (struct conf_change){.verb = CONF_DEL, .kind = kind, .name = name});
	else
		conf_dealloc((char *)name);
}

void conf_unsaved_set(struct conf_tree *tree, const struct conf_change *c, const char *before,
	const config_setting_t *item)
{
	struct conf_change set = {
		.verb = CONF_SET, .kind = c->kind, .name = conf_identity(c->kind, item)};

	if (strcmp(before, set.name) != 0) {
		conf_unsaved_del(tree, c->kind, before);
		conf_unsaved_add(tree, c->kind, set.name);
	}
	for (int i = 0; i < config_setting_length(c->settings); i++) {
		set.setting = config_setting_get_elem(c->settings, (unsigned int)i)->name;
		note_once(tree, set);
	}
}

// The tree has keys instead of the file that they were read from.
static bool is_about(const char *unsaved, const char *setting)
{
	size_t len = strcspn(setting, "."); // of the group that it is in

	if (strcmp(unsaved, "key_file") == 0)
		return conf_option_find(conf_key_file_options, setting) != NULL;
	return strlen(unsaved) == len && strncmp(unsaved, setting, len) == 0;
}

bool conf_unsaved_has(const struct conf_tree *tree, const struct conf_change *d)
{
	bool moved = d->verb == CONF_SET && d->setting == NULL, has = false;

	for (unsigned int i = 0; i < tree->unsaved->n; i++) {
		const struct conf_change *c = &tree->unsaved->change[i];

		if (moved) // where an item was added, others may seem to move
			has |= c->kind == d->kind && c->setting == NULL;
		else if (is_item(c, d->kind, d->name))
			has |= c->setting == NULL ||
			       (d->setting != NULL && is_about(c->setting, d->setting));
	}
	return has;
}
