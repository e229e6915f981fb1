// SPDX-License-Identifier: BSD-3-Clause
#include "conf_apply.h"

#include <string.h>

#include "conf_change_text.h"
#include "conf_check.h"
#include "conf_unsaved.h"

// The name of an item as two texts: its identity, and its scope; NULL: any.
struct name {
	const char *plain, *scope;
};

static struct name name_of(const struct conf_kind_info *kind, const char *name)
{
	const char *blank = strchr(name, ' ');

	if (blank == NULL)
		return (struct name){name, NULL};
	return (struct name){conf_format("%.*s", (int)(blank - name), name),
		blank + 1 + strlen(kind->scope) + 1};
}

static void reject_unknown(struct conf_reader *r, const struct conf_change *c,
	const struct name *name, struct nearest *near)
{
	const struct conf_kind_info *kind = &conf_kinds[c->kind];

	if (near->best != NULL)
		conf_err_at(r, c->where, NULL, "there is no %s %s, did you mean \"%s\"?",
			kind->noun, conf_quote(name->plain), near->best);
	else
		conf_err_at(r, c->where, NULL, "there is no %s %s%s", kind->noun,
			conf_quote(name->plain),
			name->scope != NULL
				? conf_format(" %s %s", kind->scope, conf_quote(name->scope))
				: "");
}

// The place of an item in its list; -1, after a message, if there is none or more than one.
static int item_find(struct conf_reader *r, const struct conf_change *c,
	const config_setting_t *list, const char *text)
{
	const struct conf_kind_info *kind = &conf_kinds[c->kind];
	const struct name name = name_of(kind, text);
	struct nearest near = {.text = name.plain};
	const char *wanted = conf_identity_plain(c->kind, name.plain);
	int found = -1;

	for (int i = 0; list != NULL && i < config_setting_length(list); i++) {
		const config_setting_t *item = config_setting_get_elem(list, (unsigned int)i);
		const char *identity = conf_text_in(item, kind->identity);
		const char *scope = kind->scope != NULL ? conf_text_in(item, kind->scope) : "";

		if (strcmp(conf_identity_plain(c->kind, identity), wanted) != 0) {
			nearest_try(&near, identity);
		} else if (strcmp(scope, name.scope != NULL ? name.scope : "") == 0) {
			return i;
		} else if (name.scope != NULL) {
			continue;
		} else if (found >= 0) {
			conf_err_at(r, c->where, NULL,
				"there are several %ss %s, choose one with \"%s NAME\"", kind->noun,
				conf_quote(name.plain), kind->scope);
			return -1;
		} else {
			found = i;
		}
	}
	if (found < 0)
		reject_unknown(r, c, &name, &near);
	return found;
}

// Moves the last item of a list to place i.
static void move_last(config_setting_t *list, int i)
{
	config_setting_t **items = list->value.list->elements;
	int last = config_setting_length(list) - 1;
	config_setting_t *item = items[last];

	memmove(&items[i + 1], &items[i], (size_t)(last - i) * sizeof(items[0]));
	items[i] = item;
}

// Where to put the new item; -1, after a message, if that is nowhere.
static int place_find(
	struct conf_reader *r, const struct conf_change *c, const config_setting_t *list)
{
	int at;

	if (c->place == CONF_FIRST)
		return 0;
	if (c->place == CONF_LAST)
		return list != NULL ? config_setting_length(list) : 0;
	at = item_find(r, c, list, c->beside);
	return at >= 0 && c->place == CONF_AFTER ? at + 1 : at;
}

static void item_add(
	struct conf_reader *r, const struct conf_change *c, const config_setting_t *list)
{
	int at = place_find(r, c, list);
	config_setting_t *grown;

	if (at < 0)
		return;
	grown = conf_change_add(r, c);
	move_last(grown, at);
	conf_unsaved_add(r->c->tree, c->kind,
		conf_identity(c->kind, config_setting_get_elem(grown, (unsigned int)at)));
}

static void take_out(config_setting_t *item, const char *name)
{
	if (conf_member(item, name) != NULL)
		config_setting_remove(item, name);
}

static void item_set(struct conf_reader *r, const struct conf_change *c, config_setting_t *item)
{
	const char *before = conf_strdup(conf_identity(c->kind, item));

	// A file has both keys.
	if (conf_member(c->settings, "key_file") != NULL) {
		take_out(item, "cipher_key");
		take_out(item, "auth_key");
	}
	for (int i = 0; i < config_setting_length(c->settings); i++) {
		const config_setting_t *s = config_setting_get_elem(c->settings, (unsigned int)i);

		take_out(item, s->name);
		conf_tree_add(item, s, NULL);
	}
	conf_unsaved_set(r->c->tree, c, before, item);
}

static void change_apply(struct conf_reader *r, const struct conf_change *c)
{
	config_setting_t *list = conf_member(r->root, conf_kinds[c->kind].list);
	config_setting_t *item;
	int i;

	if (c->verb == CONF_ADD) {
		item_add(r, c, list);
		return;
	}
	i = item_find(r, c, list, c->name);
	if (i < 0)
		return;
	item = config_setting_get_elem(list, (unsigned int)i);
	if (c->verb == CONF_SET) {
		item_set(r, c, item);
		return;
	}
	conf_unsaved_del(r->c->tree, c->kind, conf_strdup(conf_identity(c->kind, item)));
	config_setting_remove_elem(list, (unsigned int)i);
}

static void changes_apply(struct conf_reader *r)
{
	struct conf_record in;
	struct conf_words words;
	struct conf_change c;
	config_t settings;

	if (!conf_record_begin(&in, r))
		return;
	while (conf_record_next(&in, &words)) {
		if (!conf_change_parse(r, &words, &c))
			continue;
		if (conf_change_settings(r, &words, &c, &settings))
			change_apply(r, &c);
		config_destroy(&settings);
	}
}

static void copy_change(struct conf_reader *r)
{
	const struct conf_tree *tree = r->running->tree;

	conf_begin(r, tree->dir);
	conf_tree_copy(r->c->tree, tree);
	r->root = config_root_setting(&r->c->tree->file);
	if (r->text != NULL)
		changes_apply(r);
	if (r->n_messages > 0)
		return;
	conf_read(r);
	conf_check_isolated_restart(r, r->running);
}

struct conf *conf_copy(const struct conf *running, FILE *errors)
{
	struct conf_reader r = {.running = running, .name = "the running configuration"};

	return conf_make(&r, copy_change, errors);
}

struct conf *conf_change(
	const struct conf *running, const char *name, const char *text, size_t len, FILE *errors)
{
	struct conf_reader r = {.running = running, .name = name, .text = text, .len = len};

	return conf_make(&r, copy_change, errors);
}
