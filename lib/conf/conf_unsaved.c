// SPDX-License-Identifier: BSD-3-Clause
#include "conf_unsaved.h"

#include <string.h>

#include "conf_difference.h"

static void note(struct conf_tree *tree, struct conf_unsaved u)
{
	struct conf_unsaved *copy = conf_alloc(1, sizeof(*copy));

	u.name = conf_strdup(u.name);
	u.setting = u.setting != NULL ? conf_strdup(u.setting) : NULL;
	u.next = tree->unsaved;
	*copy = u;
	tree->unsaved = copy;
}

void conf_unsaved_copy(struct conf_tree *to, const struct conf_tree *from)
{
	for (const struct conf_unsaved *u = from->unsaved; u != NULL; u = u->next)
		note(to, *u);
}

static struct conf_unsaved *find(
	const struct conf_tree *tree, const char *noun, const char *name, const char *setting)
{
	struct conf_unsaved *u = tree->unsaved;

	while (u != NULL && (strcmp(u->noun, noun) != 0 || strcmp(u->name, name) != 0 ||
				    !conf_texts_equal(u->setting, setting)))
		u = u->next;
	return u;
}

static void note_once(struct conf_tree *tree, struct conf_unsaved u)
{
	if (find(tree, u.noun, u.name, u.setting) == NULL)
		note(tree, u);
}

void conf_unsaved_add(
	struct conf_tree *tree, const struct conf_schema *schema, const config_setting_t *item)
{
	note_once(tree,
		(struct conf_unsaved){
			.noun = schema->noun, .name = conf_identity(schema, item), .added = true});
}

static void forget(struct conf_tree *tree, const char *noun, const char *name)
{
	struct conf_unsaved **u = &tree->unsaved;

	while (*u != NULL)
		if (strcmp((*u)->noun, noun) == 0 && strcmp((*u)->name, name) == 0)
			*u = (*u)->next;
		else
			u = &(*u)->next;
}

static void name_delete(struct conf_tree *tree, const char *noun, const char *name)
{
	const struct conf_unsaved *item = find(tree, noun, name, NULL);
	bool added = item != NULL && item->added;

	forget(tree, noun, name);
	if (!added)
		note(tree, (struct conf_unsaved){.noun = noun, .name = name});
}

void conf_unsaved_del(
	struct conf_tree *tree, const struct conf_schema *schema, const config_setting_t *item)
{
	name_delete(tree, schema->noun, conf_identity(schema, item));
}

void conf_unsaved_set(struct conf_tree *tree, const struct conf_schema *schema,
	const config_setting_t *item, const char *before, const config_setting_t *settings)
{
	struct conf_unsaved u = {.noun = schema->noun, .name = conf_identity(schema, item)};

	if (strcmp(before, u.name) != 0) {
		name_delete(tree, u.noun, before);
		conf_unsaved_add(tree, schema, item);
	}
	for (int i = 0; i < config_setting_length(settings); i++) {
		u.setting = config_setting_get_elem(settings, (unsigned int)i)->name;
		note_once(tree, u);
	}
}

// The tree has keys in the place of the file that they were read from.
static bool is_about(const char *unsaved, const char *setting)
{
	size_t len = strcspn(setting, "."); // of the group that it is in

	if (strcmp(unsaved, "key_file") == 0)
		return conf_schema_find(&conf_key_schema, setting) != NULL;
	return strlen(unsaved) == len && strncmp(unsaved, setting, len) == 0;
}

bool conf_unsaved_has(const struct conf_tree *tree, const struct conf_difference *d)
{
	bool has = false;

	for (const struct conf_unsaved *u = tree->unsaved; u != NULL && d->noun != NULL;
		u = u->next)
		if (strcmp(u->noun, d->noun) != 0)
			continue;
		else if (d->kind == CONF_MOVED) // where an item was added, others may seem to move
			has |= u->setting == NULL;
		else if (strcmp(u->name, d->name) == 0)
			has |= u->setting == NULL ||
			       (d->setting != NULL && is_about(u->setting, d->setting));
	return has;
}
