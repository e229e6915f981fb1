// SPDX-License-Identifier: BSD-3-Clause
#include "conf_change.h"

#include <string.h>

#include "conf_match.h"
#include "conf_unsaved.h"
#include "hex.h"

struct diff {
	const struct conf *from, *to;
	struct conf_changes *list;
};

// The same group of settings in both configurations.
struct pair {
	const struct conf_option *options;
	const config_setting_t *from, *to;  // NULL: it was not written
	const void *from_base, *to_base;    // the configuration that was read from it
	const char *path;                   // in front of its settings: "lifetime."
	bool optional;                      // without the group they have no defaults
	const struct conf_change *template; // fields that all differences share
};

static void difference_add(struct diff *d, struct conf_change c)
{
	c.unsaved = conf_unsaved_has(d->from->tree, &c);
	conf_changes_add(d->list, c);
}

// --- values ---

static bool is_bare(const char *text)
{
	return strcmp(text, "true") == 0 || strcmp(text, "false") == 0 ||
	       text[strspn(text, "0123456789")] == '\0';
}

static const char *default_text(const struct conf_option *o)
{
	if (o->def == NULL)
		return NULL;
	return is_bare(o->def) ? o->def : conf_quote(o->def);
}

static const char *setting_text(const config_setting_t *s);

// An element of a list.
static const char *element_text(const config_setting_t *s)
{
	const char *text = "{ ";

	if (!config_setting_is_group(s))
		return setting_text(s);
	for (int i = 0; i < config_setting_length(s); i++) {
		const config_setting_t *member = config_setting_get_elem(s, (unsigned int)i);

		text = conf_format("%s%s = %s; ", text, member->name, setting_text(member));
	}
	return conf_format("%s}", text);
}

// As in a file, but of an array of one the element alone: they mean the same.
static const char *setting_text(const config_setting_t *s)
{
	int n = config_setting_length(s);
	const char *text = "";

	if (config_setting_type(s) == CONFIG_TYPE_STRING)
		return conf_quote(config_setting_get_string(s));
	if (config_setting_is_group(s))
		return "{ }";
	if (!config_setting_is_aggregate(s))
		return conf_bare_text(s);
	for (int i = 0; i < n; i++)
		text = conf_format("%s%s%s", text, i > 0 ? ", " : "",
			element_text(config_setting_get_elem(s, (unsigned int)i)));
	return n == 1 ? text : conf_format("[ %s ]", text);
}

// Of a setting that is not written, from its field: another setting may determine it, as tfc does
// those of the outer header.
static const char *field_text(const struct conf_option *o, const void *base)
{
	const char *field = (const char *)base + o->offset, *word;
	uint64_t value;
	struct conf_value v = {.option = o, .field = &value};

	if (o->type == &conf_type_bool)
		return *(const bool *)field ? "true" : "false";
	if (o->shape != CONF_VALUE || o->type->word_size == 0 || o->type->equal != NULL ||
		o->size == 0 || o->size > sizeof(value))
		return default_text(o);
	for (unsigned int i = 0; (word = conf_word(o, i)) != NULL; i++) {
		v.text = word;
		o->type->parse(&v);
		if (memcmp(&value, field, o->size) == 0)
			return conf_quote(word);
	}
	return default_text(o);
}

// Of a group that is optional and not written, no setting has a value.
static const char *value_text(const struct pair *p, const struct conf_option *o,
	const config_setting_t *group, const void *base)
{
	const config_setting_t *s = conf_member(group, o->name);

	if (s != NULL)
		return setting_text(s);
	return group != NULL || !p->optional ? field_text(o, base) : NULL;
}

// Numbers with different digits may be equal.
static bool keys_equal(const config_setting_t *a, const config_setting_t *b)
{
	uint8_t x[CRYPTO_CIPHER_KEY_MAX + CRYPTO_AUTH_KEY_MAX] = {0}, y[sizeof(x)] = {0};
	bool equal = a == b;

	if (a != NULL && b != NULL)
		equal = hex_parse(x, sizeof(x), config_setting_get_string(a)) ==
				hex_parse(y, sizeof(y), config_setting_get_string(b)) &&
			memcmp(x, y, sizeof(x)) == 0;
	explicit_bzero(x, sizeof(x));
	explicit_bzero(y, sizeof(y));
	return equal;
}

// --- settings ---

// Settings without a field are compared as text: names, which have only one form.
static bool is_equal(const struct pair *p, const struct conf_option *o)
{
	if (o->type == &conf_type_key)
		return keys_equal(conf_member(p->from, o->name), conf_member(p->to, o->name));
	if (o->size > 0)
		return conf_option_equal(o, p->from_base, p->to_base);
	if (conf_member(p->from, o->name) == NULL && conf_member(p->to, o->name) == NULL)
		return true;
	return conf_texts_equal(
		value_text(p, o, p->from, p->from_base), value_text(p, o, p->to, p->to_base));
}

static bool is_written(const struct pair *p, const struct conf_option *o)
{
	return conf_member(p->from, o->name) != NULL || conf_member(p->to, o->name) != NULL;
}

// Whether another setting, which has the same field, shows its change.
static bool another_tells(const struct pair *p, const struct conf_option *o)
{
	if (o->size == 0 || is_written(p, o))
		return false;
	for (const struct conf_option *other = p->options; other->name != NULL; other++)
		if (other->size > 0 && other->offset == o->offset && is_written(p, other))
			return true;
	return false;
}

static void diff_option(struct diff *d, const struct pair *p, const struct conf_option *o)
{
	const config_setting_t *to = conf_member(p->to, o->name);
	struct conf_change c = *p->template;

	if (is_equal(p, o) || another_tells(p, o))
		return;
	c.secret = o->type == &conf_type_key;
	c.restart &= o->restart;
	c.setting = conf_format("%s%s", p->path, o->name);
	if (!c.secret) {
		c.from = value_text(p, o, p->from, p->from_base);
		c.to = value_text(p, o, p->to, p->to_base);
	}
	if (!c.secret && c.from == NULL && c.to == NULL && !is_written(p, o))
		return; // it follows from other settings, whose change is shown
	if (o->shape == CONF_MANY && conf_texts_equal(c.from, c.to)) // an alias has changed
		c.from = c.to = NULL;
	if (to != NULL)
		c.where = conf_where(to);
	difference_add(d, c);
}

static void diff_list(struct diff *d, enum conf_kind kind);

static void diff_group(struct diff *d, const struct pair *p)
{
	for (const struct conf_option *o = p->options; o->name != NULL; o++) {
		if (o->shape == CONF_LIST) {
			diff_list(d, o->kind);
		} else if (o->shape == CONF_GROUP) {
			struct pair inner = *p;

			inner.options = o->options;
			inner.from = conf_member(p->from, o->name);
			inner.to = conf_member(p->to, o->name);
			inner.from_base = (const char *)p->from_base + o->part;
			inner.to_base = (const char *)p->to_base + o->part;
			inner.path = conf_format("%s%s.", p->path, o->name);
			inner.optional = o->size > 0;
			if (inner.optional && (inner.from == NULL) != (inner.to == NULL))
				diff_option(d, p, o);
			diff_group(d, &inner);
		} else {
			diff_option(d, p, o);
		}
	}
}

// --- lists ---

static const config_setting_t *item_of(const struct conf_side *s, unsigned int i)
{
	return conf_tree_item(s->tree, s->kind, i);
}

static void diff_item(struct diff *d, const struct conf_side *from, const struct conf_side *to,
	const struct conf_change *template)
{
	const struct conf_kind_info *kind = &conf_kinds[from->kind];
	const struct pair p = {
		.options = kind->options,
		.from = item_of(from, template->was),
		.to = item_of(to, template->item),
		.from_base = from->items + template->was * kind->item_size,
		.to_base = to->items + template->item * kind->item_size,
		.path = "",
		.template = template,
	};

	diff_group(d, &p);
}

// Whether an item cannot come, go or change by a reload: some ports can.
static bool needs_restart(
	const struct diff *d, const struct conf_side *s, unsigned int i, enum conf_verb verb)
{
	const struct conf_port *port, *parent;

	if (s->kind != CONF_PORT)
		return conf_kind_needs_restart(s->kind);
	port = (const struct conf_port *)s->items + i;
	if (port->parent_name[0] == '\0')
		return verb == CONF_SET || conf_port_must_stay(port, d->from) != NULL;
	parent = conf_port_named(d->from, port->parent_name);
	return parent != NULL && !conf_port_may_have_vlans(parent);
}

// An item of the newer configuration, which the older one has as well or not.
static struct conf_change item_change(
	const struct diff *d, const struct conf_side *to, unsigned int i, int was)
{
	const bool follows = conf_kinds[to->kind].ordered && i > 0;
	const config_setting_t *item = item_of(to, i);

	return (struct conf_change){
		.where = conf_where(item),
		.verb = was < 0 ? CONF_ADD : CONF_SET,
		.kind = to->kind,
		.name = to->named[i].name,
		.place = follows ? CONF_AFTER : CONF_FIRST,
		.beside = follows ? to->named[i - 1].name : NULL,
		.settings = item,
		.was = (unsigned int)was,
		.item = i,
		.key_file = to->kind == CONF_SA ? d->to->tree->key_files[i] : NULL,
		.restart = needs_restart(d, to, i, was < 0 ? CONF_ADD : CONF_SET),
	};
}

static void diff_list(struct diff *d, enum conf_kind kind)
{
	const struct conf_side from = conf_side_of(d->from, kind), to = conf_side_of(d->to, kind);
	bool *was_found = conf_alloc(from.n + 1, sizeof(was_found[0]));
	int *index = conf_items_match(&from, &to, was_found);
	bool *stays = conf_items_in_order(index, to.n);

	for (unsigned int i = 0; i < to.n; i++) {
		const struct conf_change c = item_change(d, &to, i, index[i]);

		if (c.verb == CONF_SET)
			diff_item(d, &from, &to, &c);
		if (c.verb == CONF_ADD || (conf_kinds[kind].ordered && !stays[i]))
			difference_add(d, c);
	}
	for (unsigned int i = 0; i < from.n; i++)
		if (!was_found[i])
			difference_add(d, (struct conf_change){
						  .where = conf_where(item_of(&from, i)),
						  .verb = CONF_DEL,
						  .kind = kind,
						  .name = from.named[i].name,
						  .was = i,
						  .restart = needs_restart(d, &from, i, CONF_DEL),
					  });
}

static void diff_all(void *arg)
{
	struct diff *d = arg;
	const config_setting_t *root = config_root_setting(&d->to->tree->file);
	const struct pair all = {
		.options = conf_top_options,
		.from = config_root_setting(&d->from->tree->file),
		.to = root,
		.from_base = d->from,
		.to_base = d->to,
		.path = "",
		.template = &(struct conf_change){.verb = CONF_SET,
			.kind = CONF_KINDS,
			.where = conf_where(root),
			.restart = true},
	};

	d->list = conf_alloc(1, sizeof(*d->list));
	diff_group(d, &all);
}

struct conf_changes *conf_diff(const struct conf *from, const struct conf *to)
{
	struct diff d = {.from = from, .to = to};
	struct conf_arena *arena = conf_arena_new();

	if (arena == NULL || conf_arena_run(arena, diff_all, &d) < 0) {
		conf_arena_free(arena);
		return NULL;
	}
	d.list->arena = arena;
	return d.list;
}
