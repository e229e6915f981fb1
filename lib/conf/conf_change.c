// SPDX-License-Identifier: BSD-3-Clause
#include "conf_change.h"

#include <string.h>

#include "conf_change_text.h"
#include "conf_check.h"
#include "conf_unsaved.h"

// What changes are about: the lists of the file that need no restart.
static const char *const lists[] = {"sas", "policies", "rules", "neighbours", "routes", NULL};

static void reject_unknown(
	struct conf_reader *r, const struct conf_change *c, const char *name, struct nearest *near)
{
	const char *noun = c->list->schema->noun;

	if (near->best != NULL)
		conf_err_at(r, c->where, NULL, "there is no %s %s, did you mean \"%s\"?", noun,
			conf_quote(name), near->best);
	else
		conf_err_at(r, c->where, NULL, "there is no %s %s%s", noun, conf_quote(name),
			c->scope != NULL ? conf_format(" %s %s", c->list->schema->scope,
						   conf_quote(c->scope))
					 : "");
}

// The place of an item in its list; -1, after a message, if there is none or more than one.
static int item_find(struct conf_reader *r, const struct conf_change *c,
	const config_setting_t *list, const char *name)
{
	const struct conf_schema *schema = c->list->schema;
	struct nearest near = {.text = name};
	const char *wanted = conf_identity_plain(schema, name);
	int found = -1;

	for (int i = 0; list != NULL && i < config_setting_length(list); i++) {
		const config_setting_t *item = config_setting_get_elem(list, (unsigned int)i);
		const char *text = conf_text_in(item, schema->identity);
		const char *scope = schema->scope != NULL ? conf_text_in(item, schema->scope) : "";

		if (strcmp(conf_identity_plain(schema, text), wanted) != 0) {
			nearest_try(&near, text);
		} else if (strcmp(scope, c->scope != NULL ? c->scope : "") == 0) {
			return i;
		} else if (c->scope != NULL) {
			continue;
		} else if (found >= 0) {
			conf_err_at(r, c->where, NULL,
				"there are several %ss %s, choose one with \"%s NAME\"",
				schema->noun, conf_quote(name), schema->scope);
			return -1;
		} else {
			found = i;
		}
	}
	if (found < 0)
		reject_unknown(r, c, name, &near);
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

static void item_add(struct conf_reader *r, const struct conf_change *c,
	const config_setting_t *list, const config_setting_t *settings)
{
	int at = place_find(r, c, list);
	config_setting_t *grown;

	if (at < 0)
		return;
	grown = conf_change_add(r, c, settings);
	move_last(grown, at);
	conf_unsaved_add(
		r->c->tree, c->list->schema, config_setting_get_elem(grown, (unsigned int)at));
}

static void take_out(config_setting_t *item, const char *name)
{
	if (conf_member(item, name) != NULL)
		config_setting_remove(item, name);
}

static void item_set(struct conf_reader *r, const struct conf_change *c, config_setting_t *item,
	const config_setting_t *settings)
{
	const char *before = conf_strdup(conf_identity(c->list->schema, item));

	// A file has both keys.
	if (conf_member(settings, "key_file") != NULL) {
		take_out(item, "cipher_key");
		take_out(item, "auth_key");
	}
	for (int i = 0; i < config_setting_length(settings); i++) {
		const config_setting_t *s = config_setting_get_elem(settings, (unsigned int)i);

		take_out(item, s->name);
		conf_tree_add(item, s);
	}
	conf_unsaved_set(r->c->tree, c->list->schema, item, before, settings);
}

static void change_apply(
	struct conf_reader *r, const struct conf_change *c, const config_setting_t *settings)
{
	config_setting_t *list = conf_member(r->root, c->list->name);
	config_setting_t *item;
	int i;

	if (c->verb == CONF_ADD) {
		item_add(r, c, list, settings);
		return;
	}
	i = item_find(r, c, list, c->item);
	if (i < 0)
		return;
	item = config_setting_get_elem(list, (unsigned int)i);
	if (c->verb == CONF_SET) {
		item_set(r, c, item, settings);
		return;
	}
	conf_unsaved_del(r->c->tree, c->list->schema, item);
	config_setting_remove_elem(list, (unsigned int)i);
}

static void change_read(struct conf_reader *r, const struct conf_change *c)
{
	config_t settings;

	if (c->settings == NULL) {
		change_apply(r, c, NULL);
		return;
	}
	if (conf_text_read(r, &settings, c->settings, c->settings_len, c->settings_where))
		change_apply(r, c, config_root_setting(&settings));
	config_destroy(&settings);
}

struct changing {
	struct conf_reader r;
	const char *name, *text;
	size_t len;
};

static void change_all(void *arg)
{
	struct changing *ch = arg;
	struct conf_reader *r = &ch->r;
	const struct conf_tree *tree = r->running->tree;
	struct conf_change_text in;
	struct conf_change c;
	unsigned int n = 0;

	conf_begin(r, tree->dir);
	conf_tree_copy(r->c->tree, tree);
	r->root = config_root_setting(&r->c->tree->file);
	if (ch->text == NULL) {
		conf_read(r);
		return;
	}
	if (conf_change_begin(&in, r, ch->name, ch->text, ch->len))
		for (; conf_change_next(&in, &c); n++)
			if (conf_change_parse(r, &c, lists))
				change_read(r, &c);
	if (n == 0 && r->n_messages == 0)
		conf_err_at(r, in.start, NULL, "no change is given");
	if (r->n_messages > 0)
		return;
	conf_read(r);
	conf_check_isolated_restart(r, r->running);
}

struct conf *conf_copy(const struct conf *running, FILE *errors)
{
	struct changing ch = {.r.running = running};

	return conf_make(&ch.r, change_all, &ch, "the running configuration", errors);
}

struct conf *conf_change(
	const struct conf *running, const char *name, const char *text, size_t len, FILE *errors)
{
	struct changing ch = {.r.running = running, .name = name, .text = text, .len = len};

	return conf_make(&ch.r, change_all, &ch, name, errors);
}
