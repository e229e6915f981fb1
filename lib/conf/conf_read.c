// SPDX-License-Identifier: BSD-3-Clause
// Walks a configuration along its schema.
#include "conf_schema.h"

#include <stdlib.h>
#include <string.h>

#include "dpdk_compat.h"

config_setting_t *conf_member(const config_setting_t *group, const char *name)
{
	const config_list_t *members =
		group != NULL && config_setting_is_group(group) ? group->value.list : NULL;

	for (unsigned int i = 0; members != NULL && i < members->length; i++)
		if (members->elements[i]->name[0] == name[0] &&
			strcmp(members->elements[i]->name, name) == 0)
			return members->elements[i];
	return NULL;
}

size_t conf_room(unsigned int n)
{
	return RTE_ALIGN_CEIL((size_t)n + 1, RTE_MAX(16u, rte_align32pow2(n) / 8));
}

static const char *kind_name(const config_setting_t *s)
{
	switch (config_setting_type(s)) {
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_INT64:
		return "an integer";
	case CONFIG_TYPE_FLOAT:
		return "a floating-point number";
	case CONFIG_TYPE_STRING:
		return "a string";
	case CONFIG_TYPE_BOOL:
		return "a boolean";
	case CONFIG_TYPE_ARRAY:
		return "an array [ ]";
	case CONFIG_TYPE_LIST:
		return "a list ( )";
	default:
		return "a group { }";
	}
}

// The words of a type, separated by commas.
static const char *word_list(const struct conf_option *o)
{
	const char *text = "";
	const char *word;

	for (unsigned int i = 0; (word = conf_word(o, i)) != NULL; i++)
		text = conf_join(text, word);
	return text;
}

const char *conf_allowed(const struct conf_option *o)
{
	if (o->type->word_size > 0)
		return conf_format("%s %s", o->type->allowed, word_list(o));
	if (o->max > 0)
		return conf_format("%s from %u to %u", o->type->allowed, o->min, o->max);
	return o->type->allowed;
}

// The same of the option as a whole.
static const char *allowed_shape(const struct conf_option *o)
{
	switch (o->shape) {
	case CONF_GROUP:
		return "a group { } of settings";
	case CONF_LIST:
		return "a list ( ) of groups { }";
	case CONF_ARRAY:
		return conf_format("an array [ ] of %u to %u elements, each %s", o->n_min, o->n_max,
			conf_allowed(o));
	default:
		return conf_allowed(o);
	}
}

static void reject_kind(struct conf_reader *r, const struct conf_option *o, config_setting_t *s)
{
	bool quote = (o->shape == CONF_VALUE || o->shape == CONF_MANY) &&
		     o->type->kinds == CONF_KIND(CONFIG_TYPE_STRING) &&
		     config_setting_is_number(s) && strncmp(o->type->allowed, "a string", 8) != 0;

	conf_err(r, s, "is %s, must be %s%s", kind_name(s), allowed_shape(o),
		quote ? ", in quotation marks" : "");
}

const char *conf_bare_text(const config_setting_t *s)
{
	switch (config_setting_type(s)) {
	case CONFIG_TYPE_INT:
		// libconfig makes a negative number of 0x80000000 and above.
		if (config_setting_get_format(s) == CONFIG_FORMAT_HEX)
			return conf_format("0x%x", config_setting_get_int(s));
		return conf_format("%d", config_setting_get_int(s));
	case CONFIG_TYPE_INT64:
		return conf_format("%lld", config_setting_get_int64(s));
	case CONFIG_TYPE_BOOL:
		return config_setting_get_bool(s) ? "true" : "false";
	default:
		return NULL;
	}
}

// The value as text; NULL if it is of a kind that the option does not take.
static const char *text_of(const struct conf_option *o, const config_setting_t *s)
{
	int kind = config_setting_type(s);

	if ((o->type->kinds & CONF_KIND(kind)) == 0)
		return NULL;
	switch (kind) {
	case CONFIG_TYPE_ARRAY:
	case CONFIG_TYPE_LIST:
		return ""; // the type looks at the elements
	case CONFIG_TYPE_STRING:
		return config_setting_get_string(s);
	default:
		return conf_bare_text(s);
	}
}

void conf_read_value(
	struct conf_reader *r, const struct conf_option *o, config_setting_t *s, void *field)
{
	const char *text = text_of(o, s);

	if (text != NULL)
		o->type->parse(&(struct conf_value){r, o, s, text, field});
	else if (o->shape == CONF_ARRAY || (o->shape == CONF_MANY && s->name == NULL))
		conf_err(r, s, "element is %s, must be %s", kind_name(s), conf_allowed(o));
	else
		reject_kind(r, o, s);
}

// False if there are too few or too many.
static bool check_count(struct conf_reader *r, const struct conf_option *o, config_setting_t *s)
{
	unsigned int n = (unsigned int)config_setting_length(s);

	if (n >= o->n_min && n <= o->n_max)
		return true;
	conf_err(r, s, "has %u elements, must have %u to %u", n, o->n_min, o->n_max);
	return false;
}

static void read_array(
	struct conf_reader *r, const struct conf_option *o, config_setting_t *s, char *base)
{
	unsigned int n = (unsigned int)config_setting_length(s);

	// A list will do, too: the difference is libconfig's, not the user's.
	if (!config_setting_is_array(s) && !config_setting_is_list(s)) {
		reject_kind(r, o, s);
		return;
	}
	if (!check_count(r, o, s))
		return;
	memset(base + o->offset, 0, n * o->size);
	for (unsigned int i = 0; i < n; i++)
		conf_read_value(
			r, o, config_setting_get_elem(s, i), base + o->offset + i * o->size);
	memcpy(base + o->count_offset, &n, sizeof(n));
}

static void read_list(
	struct conf_reader *r, const struct conf_option *o, config_setting_t *s, char *base)
{
	unsigned int n = (unsigned int)config_setting_length(s);
	const struct conf_kind_info *kind = &conf_kinds[o->kind];

	if (!config_setting_is_list(s)) {
		reject_kind(r, o, s);
		return;
	}
	if (!check_count(r, o, s))
		return;

	char *items = conf_alloc(conf_room(n), kind->item_size);

	for (unsigned int i = 0; i < n; i++) {
		config_setting_t *item = config_setting_get_elem(s, i);
		struct conf_where where = conf_where(item);
		char *to = items + i * kind->item_size;

		if (config_setting_is_group(item))
			conf_read_group(r, o->options, item, to);
		else
			conf_err(r, item, "element %u is %s, must be a group { }", i + 1,
				kind_name(item));
		memcpy(to, &where, sizeof(where));
	}
	memcpy(base + kind->offset, &items, sizeof(items));
	memcpy(base + kind->n_offset, &n, sizeof(n));
}

static void read_option(
	struct conf_reader *r, const struct conf_option *o, config_setting_t *s, char *base)
{
	switch (o->shape) {
	case CONF_VALUE:
		conf_read_value(r, o, s, base + o->offset);
		break;
	case CONF_MANY:
		conf_read_values(r, o, s, base);
		break;
	case CONF_ARRAY:
		read_array(r, o, s, base);
		break;
	case CONF_LIST:
		read_list(r, o, s, base);
		break;
	case CONF_GROUP:
		if (config_setting_is_group(s))
			conf_read_group(r, o->options, s, base + o->part);
		else
			reject_kind(r, o, s);
		break;
	}
}

static void set_default(struct conf_reader *r, const struct conf_option *o, char *base)
{
	const unsigned int one = 1;

	if (o->shape == CONF_GROUP)
		conf_read_group(r, o->options, NULL, base + o->part);
	if (o->def == NULL)
		return;
	if (o->shape == CONF_MANY) {
		conf_read_values(r, o, NULL, base);
		return;
	}
	o->type->parse(&(struct conf_value){r, o, NULL, o->def, base + o->offset});
	if (o->shape == CONF_ARRAY)
		memcpy(base + o->count_offset, &one, sizeof(one));
}

void conf_reject_missing(
	struct conf_reader *r, config_setting_t *group, const struct conf_option *o)
{
	conf_err(r, group, "%s is missing, must be %s", o->name, allowed_shape(o));
}

// Whether one of several words, with a blank in between, is this one.
static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (; words != NULL; words = strchr(words, ' ')) {
		words += *words == ' ';
		if (strncmp(words, word, len) == 0 && (words[len] == ' ' || words[len] == '\0'))
			return true;
	}
	return false;
}

static void reject_unknown(
	struct conf_reader *r, const struct conf_option *options, config_setting_t *s)
{
	struct nearest near = {.text = s->name};
	const char *names = "", *meant = NULL;

	for (const struct conf_option *o = options; o->name != NULL; o++) {
		if ((o->only & CONF_ONLY_IKE) != 0 && !r->ike)
			continue;
		names = conf_join(names, o->name);
		nearest_try(&near, o->name);
		if (has_word(o->aka, s->name))
			meant = meant == NULL ? o->name
					      : conf_format("%s\" or \"%s", meant, o->name);
	}
	if (meant != NULL)
		near.best = meant;
	conf_err(r, s, "unknown setting, %s",
		conf_hint(&near, conf_format("must be one of %s", names)));
}

void conf_read_group(struct conf_reader *r, const struct conf_option *options,
	config_setting_t *group, void *base)
{
	for (int i = 0; group != NULL && i < config_setting_length(group); i++) {
		config_setting_t *s = config_setting_get_elem(group, (unsigned int)i);

		if (conf_option_find(options, s->name) == NULL)
			reject_unknown(r, options, s);
	}
	for (const struct conf_option *o = options; o->name != NULL; o++) {
		config_setting_t *s = conf_member(group, o->name);

		// A rejected setting leaves its default, so that later checks report nothing about
		// it.
		set_default(r, o, base);
		if (s != NULL)
			read_option(r, o, s, base);
		else if (o->required)
			conf_reject_missing(r, group, o);
	}
}

void conf_read_setting(struct conf_reader *r, const char *name)
{
	config_setting_t *s = conf_member(r->root, name);

	if (s != NULL)
		read_option(r, conf_option_find(conf_top_options, name), s, (char *)r->c);
}
