// SPDX-License-Identifier: BSD-3-Clause
#include <string.h>

#include "conf_rewrite_items.h"
#include "conf_schema.h"

// A group of settings in the file, and its settings that run.
struct settings {
	const struct conf_span *span;
	const config_setting_t *from, *to;
	bool is_top;          // all settings of the file
	const char *key_file; // that the keys have to come from; NULL: they have not changed
};

static bool is_key(const char *name)
{
	return conf_option_find(conf_key_file_options, name) != NULL;
}

static const char *scratch_text(const struct conf_scratch *s)
{
	fflush(s->out);
	return conf_format("%.*s", (int)s->len, s->text);
}

static const char *value_text(const struct conf_rewriting *w, const config_setting_t *s)
{
	rewind(w->scratch->out);
	conf_print_value(w->scratch->out, s);
	return scratch_text(w->scratch);
}

static const char *name_text(const struct conf_rewriting *w, const char *name)
{
	rewind(w->scratch->out);
	conf_print_text(w->scratch->out, name);
	return scratch_text(w->scratch);
}

// --- equality ---

static bool is_equal(const config_setting_t *a, const config_setting_t *b);

static bool members_equal(const config_setting_t *a, const config_setting_t *b)
{
	bool equal = config_setting_length(a) == config_setting_length(b);

	for (int i = 0; equal && i < config_setting_length(a); i++) {
		const config_setting_t *x = config_setting_get_elem(a, (unsigned int)i);
		const config_setting_t *y = x->name != NULL
						    ? conf_member(b, x->name)
						    : config_setting_get_elem(b, (unsigned int)i);

		equal = y != NULL && is_equal(x, y);
	}
	return equal;
}

static bool is_equal(const config_setting_t *a, const config_setting_t *b)
{
	if (config_setting_type(a) != config_setting_type(b))
		return false;
	switch (config_setting_type(a)) {
	case CONFIG_TYPE_INT:
		return config_setting_get_int(a) == config_setting_get_int(b);
	case CONFIG_TYPE_INT64:
		return config_setting_get_int64(a) == config_setting_get_int64(b);
	case CONFIG_TYPE_BOOL:
		return config_setting_get_bool(a) == config_setting_get_bool(b);
	case CONFIG_TYPE_STRING:
		return strcmp(config_setting_get_string(a), config_setting_get_string(b)) == 0;
	default:
		return members_equal(a, b);
	}
}

// --- settings ---

// Lists of items are not settings of the file.
static bool is_list(const char *name)
{
	const struct conf_option *o = conf_option_find(conf_top_options, name);

	return o != NULL && o->shape == CONF_LIST;
}

static bool is_gone(const struct settings *g, const struct conf_span *member)
{
	const char *name = conf_format("%.*s", (int)member->name_len, member->name);

	if (is_key(name))
		return g->key_file != NULL;
	if (g->is_top && is_list(name))
		return false;
	return strcmp(name, "key_file") != 0 && conf_member(g->to, name) == NULL;
}

static struct conf_gap gap_for_setting(struct conf_patches *list, const struct settings *g)
{
	static const char mark[] = ";";
	unsigned int n = g->span->n;

	while (n > 0 && is_gone(g, &g->span->member[n - 1]))
		n--;
	if (n == 0)
		return conf_gap_within(list->texts, g->span);
	if (!g->span->member[n - 1].has_mark)
		conf_patch_add(list, g->span->member[n - 1].end, 0, mark);
	return conf_gap_after(list->texts, &g->span->member[n - 1]);
}

static void reject_parted(struct conf_rewriting *w, const struct conf_span *s)
{
	const struct conf_text *text = &w->texts->text[s->begin.file];
	unsigned int line = 1;

	for (size_t i = 0; i < s->begin.at; i++)
		line += text->octets[i] == '\n';
	conf_err_at(w->r, (struct conf_where){text->path, line}, NULL,
		"this has changed at run time and is in several files: edit them by hand");
}

static void value_replace(struct conf_rewriting *w, struct conf_patches *list,
	const struct conf_span *s, const char *value)
{
	if (conf_span_is_whole(&s->value, &s->end))
		conf_patch_add(list, s->value, s->end.at - s->value.at, value);
	else
		reject_parted(w, s);
}

static void group_patch(
	struct conf_rewriting *w, struct conf_patches *list, const struct settings *g);

// Returns the text of the setting if the file lacks it, else NULL.
static const char *setting_patch(struct conf_rewriting *w, struct conf_patches *list,
	const struct settings *g, const config_setting_t *to)
{
	const struct conf_span *span = conf_span_member(g->span, to->name);
	const config_setting_t *from = conf_member(g->from, to->name);

	if (span == NULL || from == NULL)
		return conf_format("%s = %s", to->name, value_text(w, to));
	if (is_equal(from, to))
		return NULL;
	if (config_setting_is_group(from) && config_setting_is_group(to))
		group_patch(w, list, &(struct settings){.span = span, .from = from, .to = to});
	else
		value_replace(w, list, span, value_text(w, to));
	return NULL;
}

static const char *key_patch(
	struct conf_rewriting *w, struct conf_patches *list, const struct settings *g)
{
	const struct conf_span *span = conf_span_member(g->span, "key_file");

	if (g->key_file == NULL)
		return NULL;
	if (span == NULL)
		return conf_format("key_file = %s", name_text(w, g->key_file));
	value_replace(w, list, span, name_text(w, g->key_file));
	return NULL;
}

static void members_remove(
	struct conf_rewriting *w, struct conf_patches *list, const struct settings *g)
{
	for (unsigned int i = 0; i < g->span->n; i++) {
		const struct conf_span *s = &g->span->member[i];

		if (!is_gone(g, s))
			continue;
		if (conf_span_is_whole(&s->begin, &s->end))
			conf_patch_remove(list, s);
		else
			reject_parted(w, s);
	}
}

static void group_patch(
	struct conf_rewriting *w, struct conf_patches *list, const struct settings *g)
{
	int n = config_setting_length(g->to);
	struct conf_gap gap = {.newline = NULL};

	members_remove(w, list, g);
	for (int i = 0; i <= n; i++) {
		const config_setting_t *s = config_setting_get_elem(g->to, (unsigned int)i);
		const char *added = NULL;

		if (s == NULL)
			added = key_patch(w, list, g);
		else if (!is_key(s->name) && !(g->is_top && is_list(s->name)))
			added = setting_patch(w, list, g, s);
		if (added != NULL && gap.newline == NULL)
			gap = gap_for_setting(list, g);
		if (added != NULL)
			conf_patch_insert(list, &gap, added, ";");
	}
}

// --- items ---

static bool has_key(const config_setting_t *item)
{
	return conf_member(item, "cipher_key") != NULL || conf_member(item, "auth_key") != NULL;
}

// The file of the keys of an SA that runs; NULL after a message if they are in none.
static const char *key_file_of(struct conf_rewriting *w, unsigned int item)
{
	const char *name = w->running->tree->key_files[item];
	const config_setting_t *s = conf_tree_item(w->running->tree, CONF_SA, item);

	if (name == NULL)
		conf_err_at(w->r, (struct conf_where){w->texts->text[0].path, 1}, NULL,
			"the keys of sa %s were not read from a key_file: write them to one, and "
			"set "
			"it",
			conf_quote(conf_identity(CONF_SA, s)));
	return name;
}

static bool keys_equal(const struct conf_sa *a, const struct conf_sa *b)
{
	return key_id_equal(&a->opt.cipher_key_id, &b->opt.cipher_key_id) &&
	       key_id_equal(&a->opt.auth_key_id, &b->opt.auth_key_id);
}

void conf_rewrite_item(struct conf_rewriting *w, struct conf_patches *list, enum conf_kind kind,
	const struct conf_span *span, unsigned int was, unsigned int item)
{
	struct settings g = {.span = span,
		.from = conf_tree_item(w->file->tree, kind, was),
		.to = conf_tree_item(w->running->tree, kind, item)};

	if (kind == CONF_SA && !keys_equal(&w->file->sas[was], &w->running->sas[item])) {
		g.key_file = key_file_of(w, item);
		if (g.key_file == NULL)
			return;
	}
	group_patch(w, list, &g);
}

void conf_rewrite_top(struct conf_rewriting *w)
{
	const struct settings g = {
		.span = &w->all,
		.from = config_root_setting(&w->file->tree->file),
		.to = config_root_setting(&w->running->tree->file),
		.is_top = true,
	};

	group_patch(w, &w->patches, &g);
}

const char *conf_rewrite_text(struct conf_rewriting *w, enum conf_kind kind, unsigned int item,
	const struct conf_gap *gap, const char *indent)
{
	const config_setting_t *settings = conf_tree_item(w->running->tree, kind, item);
	const char *key_file = kind == CONF_SA && has_key(settings) ? key_file_of(w, item) : NULL;
	const char *before = indent != NULL ? conf_format("%s%s", gap->newline, indent) : " ";
	const char *text = "{";

	for (int i = 0; i < config_setting_length(settings); i++) {
		const config_setting_t *s = config_setting_get_elem(settings, (unsigned int)i);

		if (!is_key(s->name))
			text = conf_format("%s%s%s = %s;", text, before, s->name, value_text(w, s));
	}
	if (key_file != NULL)
		text = conf_format("%s%skey_file = %s;", text, before, name_text(w, key_file));
	return indent != NULL ? conf_format("%s%s%s}", text, gap->newline, gap->indent)
			      : conf_format("%s }", text);
}
