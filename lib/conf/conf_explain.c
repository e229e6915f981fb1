// SPDX-License-Identifier: BSD-3-Clause
#include "conf_explain.h"

#include <string.h>

#include "conf_schema.h"

// "`a`, `b` or `c`"
static const char *words_text(const struct conf_option *o)
{
	const char *text = "", *word;

	for (unsigned int i = 0; (word = conf_word(o, i)) != NULL; i++)
		text = conf_format("%s%s`%s`", text,
			i == 0                        ? ""
			: conf_word(o, i + 1) == NULL ? " or "
						      : ", ",
			word);
	return text;
}

// A text of messages without its article and up to the mark, with code as Markdown has it.
static const char *allowed_text(const struct conf_option *o, const char *mark)
{
	const char *text = o->type->allowed, *end = strstr(text, mark);
	size_t article = strncmp(text, "an ", 3) == 0 ? 3 : strncmp(text, "a ", 2) == 0 ? 2 : 0;
	int len = end != NULL ? (int)(end - text) : (int)strlen(text);
	char *plain = conf_format("%.*s", len, text);

	for (char *c = plain; *c != '\0'; c++)
		if (*c == '"')
			*c = '`';
	return o->shape != CONF_ARRAY ? plain + article : plain;
}

static const char *value_text(const struct conf_option *o)
{
	bool has_words = o->type->word_size > 0;
	const char *allowed = o->type == &conf_type_bool
				      ? "`true` or `false`"
				      : allowed_text(o, o->max > 0 ? " such as" : "\n");

	if (has_words && strcmp(o->type->allowed, "one of") == 0 && o->shape == CONF_VALUE)
		return words_text(o);
	if (has_words)
		return conf_format("%s %s", allowed, words_text(o));
	if (o->max > 0)
		return conf_format("%s from %u to %u", allowed, o->min, o->max);
	return allowed;
}

static const char *shape_text(const struct conf_option *o)
{
	switch (o->shape) {
	case CONF_GROUP:
		return "group";
	case CONF_LIST:
		return conf_format("list of %u to %u groups", o->n_min, o->n_max);
	case CONF_ARRAY:
		return conf_format("array of %u to %u, each %s", o->n_min, o->n_max, value_text(o));
	case CONF_MANY:
		return conf_format("%s; or a [list](#lists)", value_text(o));
	default:
		return value_text(o);
	}
}

static const char *absent_text(const struct conf_option *o)
{
	const char *absent = o->absent != NULL ? o->absent : "";

	if (o->required)
		return conf_format("required%s", absent);
	if (o->def == NULL)
		return absent;
	return conf_format("`%s`%s%s", o->def, o->absent != NULL ? "; " : "", absent);
}

// Groups have no changes of their own, lists those of their elements. Settings that are not in the
// file do not change with it.
static const char *change_text(const struct conf_option *o)
{
	bool restart = o->restart || (o->shape == CONF_LIST && conf_kind_needs_restart(o->kind));

	if ((o->only & CONF_ONLY_IKE) != 0)
		return "";
	return o->shape == CONF_GROUP ? "" : restart ? "restart" : "reload";
}

static const char *only_text(unsigned int only)
{
	const char *direction = (only & CONF_ONLY_IN) != 0    ? "direction `in`"
				: (only & CONF_ONLY_OUT) != 0 ? "direction `out`"
							      : "";

	if ((only & CONF_ONLY_PROTECT) != 0)
		return "action `protect`";
	if ((only & CONF_ONLY_TUNNEL) == 0)
		return direction;
	return conf_format("%s%smode `tunnel`", direction, direction[0] != '\0' ? " and " : "");
}

// NULL: there are none.
static const char *const *words_new(const struct conf_option *o)
{
	unsigned int n = 0;
	const char **words;

	if (o->choices != NULL || o->type == NULL)
		return o->choices;
	while (conf_word(o, n) != NULL)
		n++;
	if (n == 0)
		return NULL;
	words = conf_alloc(n + 1, sizeof(*words));
	for (unsigned int i = 0; i < n; i++)
		words[i] = conf_word(o, i);
	return words;
}

static unsigned int json_kinds(const struct conf_option *o)
{
	static const struct {
		int written;
		unsigned int json;
	} rows[] = {{CONFIG_TYPE_STRING, CONF_JSON_STRING}, {CONFIG_TYPE_INT, CONF_JSON_INTEGER},
		{CONFIG_TYPE_BOOL, CONF_JSON_BOOLEAN}, {CONFIG_TYPE_ARRAY, CONF_JSON_ARRAY}};
	unsigned int kinds = o->options != NULL ? CONF_JSON_OBJECT : 0;

	if (o->shape == CONF_ARRAY || o->shape == CONF_MANY || o->shape == CONF_LIST)
		kinds |= CONF_JSON_ARRAY;
	for (unsigned int i = 0; o->type != NULL && i < RTE_DIM(rows); i++)
		if ((o->type->kinds & CONF_KIND(rows[i].written)) != 0)
			kinds |= rows[i].json;
	if ((o->shape == CONF_VALUE || o->shape == CONF_MANY) && (kinds & CONF_JSON_ARRAY) != 0 &&
		o->options == NULL)
		kinds |= CONF_JSON_ALONE;
	return kinds;
}

// An alias may stand in the place of values.
static const char *pattern_of(const struct conf_option *o)
{
	if (o->alias != 0)
		return conf_format("(%s)|^@[A-Za-z0-9][A-Za-z0-9_.-]{0,30}$", o->type->pattern);
	return o->type != NULL ? o->type->pattern : NULL;
}

static struct conf_json json_of(const struct conf_option *o)
{
	return (struct conf_json){
		.kinds = json_kinds(o),
		.n_min = o->shape == CONF_VALUE ? 1 : o->n_min,
		.n_max = o->n_max,
		.min = o->min,
		.max = o->max,
		.words = words_new(o),
		.pattern = pattern_of(o),
		.def = o->def,
		.required = o->required,
	};
}

struct conf_explanation conf_option_explain(const struct conf_option *o, const char *path)
{
	return (struct conf_explanation){
		.setting = conf_format("%s%s", path, o->name),
		.value = shape_text(o),
		.absent = absent_text(o),
		.change = change_text(o),
		.only = only_text(o->only),
		.help = o->help,
		.json = json_of(o),
	};
}

struct explaining {
	conf_explain_fn *explain;
	void *arg;
};

static void options_explain(
	const struct explaining *x, const struct conf_option *options, const char *path)
{
	for (const struct conf_option *o = options; o->name != NULL; o++) {
		const struct conf_explanation e = conf_option_explain(o, path);

		if ((o->only & CONF_ONLY_IKE) != 0)
			continue;
		x->explain(x->arg, &e);
		if (o->options != NULL)
			options_explain(x, o->options, conf_format("%s.", e.setting));
	}
}

static void all_explain(void *arg)
{
	options_explain(arg, conf_top_options, "");
}

int conf_explain(conf_explain_fn *explain, void *arg)
{
	return conf_with_arena(all_explain, &(struct explaining){explain, arg});
}
