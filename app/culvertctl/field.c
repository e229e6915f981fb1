// SPDX-License-Identifier: BSD-3-Clause
#include "field.h"

#include <stdlib.h>
#include <string.h>

enum type { TEXT, NUMBER, PRESENT, OPTION, BOOL, WORDS, RANGE, OBJECT, TYPES };
enum role { KEY, PART, SHORT, WIDE, COUNT, WIDE_COUNT };

static const struct field {
	const char *list, *name;
	enum type type;
	enum role role;
	const char *help; // that of its metric; "": it has none
} fields[] = {
#define NO_METRIC                                                ""
#define LABEL(label)                                             ""
#define INFO_LABEL(label)                                        ""
#define COUNTER(name, help)                                      help
#define GAUGE(name, help)                                        help
#define COUNTER_IN(name, unit, factor, help)                     help
#define GAUGE_IN(name, unit, factor, help)                       help
#define POSITIVE_IN(name, unit, factor, help)                    help
#define COUNTER_AT(list, member, name, help)                     help
#define GAUGE_AT(list, member, name, help)                       help
#define GAUGE_AT_IN(list, member, name, unit, help)              help
#define COUNTERS(list, at, name, label, words, from, n, o, help) help
#define GAUGES(list, at, name, label, words, from, n, help)      help
#define FIELD(list, name, type, role, value, metric)             {#list, #name, type, role, metric},
#define EVENT_FIELD(name, type, role)                            {"events", #name, type, role, ""},
#include "field.def"
};

#define N_FIELDS (sizeof(fields) / sizeof(fields[0]))

// The field of a name, or of a rate of it; NULL if it is unknown.
static const struct field *field_find(const char *list, const char *name)
{
	size_t len = strlen(name);

	if (len > 2 && strcmp(name + len - 2, "/s") == 0)
		len -= 2;
	for (size_t i = 0; i < N_FIELDS; i++)
		if (strcmp(fields[i].list, list) == 0 && strlen(fields[i].name) == len &&
			strncmp(fields[i].name, name, len) == 0)
			return &fields[i];
	return NULL;
}

// Whether the values of the field identify an object of its list.
static bool field_is_identity(const char *list, const char *name)
{
	const struct field *f = field_find(list, name);

	return f != NULL && (f->role == KEY || f->role == PART);
}

bool field_is_counter(const char *list, const char *name)
{
	const struct field *f = field_find(list, name);

	return f != NULL && (f->role == COUNT || f->role == WIDE_COUNT);
}

bool field_is_short(const char *list, const char *name)
{
	const struct field *f = field_find(list, name);

	return f == NULL || (f->role != WIDE && f->role != WIDE_COUNT);
}

bool fields_count(const char *list)
{
	for (size_t i = 0; i < N_FIELDS; i++)
		if (strcmp(fields[i].list, list) == 0 && field_is_counter(list, fields[i].name))
			return true;
	return false;
}

const char *field_key(const char *list)
{
	for (size_t i = 0; i < N_FIELDS; i++)
		if (strcmp(fields[i].list, list) == 0 && fields[i].role == KEY)
			return fields[i].name;
	return NULL;
}

const char *field_filter(const char *list, unsigned int i)
{
	for (const struct field *f = fields; f < fields + N_FIELDS; f++)
		if (strcmp(f->list, list) == 0 && f->role != COUNT && f->role != WIDE_COUNT &&
			i-- == 0)
			return f->name;
	return NULL;
}

json_t *fields_explain(const char *name)
{
	json_t *found = json_array();

	for (const struct field *f = fields; f < fields + N_FIELDS; f++)
		if (f->help[0] != '\0' && strcmp(f->name, name) == 0)
			json_array_append_new(found, json_pack("{s:s, s:s, s:s}", "field", f->name,
							     "list", f->list, "help", f->help));
	return found;
}

static bool is_none(const char *text)
{
	return text[0] == '\0' || strcmp(text, "-") == 0 || strcmp(text, "any") == 0;
}

static json_t *number_of(const char *text)
{
	return json_integer(strtoll(text, NULL, 10));
}

static json_t *option_of(const char *text)
{
	return is_none(text) ? json_null() : json_string(text);
}

static json_t *present_of(const char *text)
{
	return is_none(text) ? json_null() : number_of(text);
}

static json_t *bool_of(const char *text)
{
	return json_boolean(strcmp(text, "yes") == 0);
}

static json_t *words_of(const char *text)
{
	json_t *words = json_array();

	while (*text != '\0') {
		size_t len = strcspn(text, ",");

		json_array_append_new(words, json_stringn(text, len));
		text += len + (text[len] == ',');
	}
	return words;
}

static json_t *range_of(const char *text)
{
	const char *dash = strchr(text, '-');

	if (is_none(text))
		return json_null();
	if (text[0] == '@' || strchr(text, ',') != NULL)
		return json_string(text);
	return json_pack("[o, o]", number_of(text), number_of(dash != NULL ? dash + 1 : text));
}

// Whether the number 0 stands for no value.
static bool is_absent(const struct field *f, const json_t *value)
{
	return f != NULL && f->type == PRESENT && json_is_integer(value) &&
	       json_integer_value(value) == 0;
}

void fields_absent(const char *list, json_t *objects)
{
	const char *name;
	json_t *object, *value;
	size_t i;

	json_array_foreach(objects, i, object) json_object_foreach(object, name, value)
	{
		if (is_absent(field_find(list, name), value))
			json_object_iter_set_new(
				object, json_object_key_to_iter(name), json_null());
	}
}

static json_t *value_typed(const struct field *f, json_t *value)
{
	static json_t *(*const convert[TYPES])(const char *text) = {
		[NUMBER] = number_of,
		[PRESENT] = present_of,
		[OPTION] = option_of,
		[BOOL] = bool_of,
		[WORDS] = words_of,
		[RANGE] = range_of,
	};

	if (is_absent(f, value))
		return json_null();
	if (f == NULL || convert[f->type] == NULL || !json_is_string(value))
		return json_incref(value);
	return convert[f->type](json_string_value(value));
}

static json_t *object_typed(const char *list, json_t *object)
{
	json_t *typed = json_object();
	const char *name;
	json_t *value;

	json_object_foreach(object, name, value)
		json_object_set_new(typed, name, value_typed(field_find(list, name), value));
	return typed;
}

static json_t *each(
	const char *list, const json_t *objects, json_t *(*make)(const char *list, json_t *object))
{
	json_t *all = json_array();

	for (size_t i = 0; i < json_array_size(objects); i++)
		json_array_append_new(all, make(list, json_array_get(objects, i)));
	return all;
}

json_t *fields_typed(const char *list, const json_t *objects)
{
	return each(list, objects, object_typed);
}

static json_t *object_short(const char *list, json_t *object)
{
	json_t *row = json_object();
	const char *name;
	json_t *value;

	json_object_foreach(object, name, value) if (field_is_short(list, name))
		json_object_set(row, name, value);
	return row;
}

json_t *fields_short(const char *list, const json_t *objects)
{
	return each(list, objects, object_short);
}

json_t *fields_below_each_other(json_t *object)
{
	json_t *rows = json_array();
	const char *name;
	json_t *value;

	json_object_foreach(object, name, value)
		json_array_append_new(rows, json_pack("{s:s, s:O}", "item", name, "value", value));
	return rows;
}

static char *identity_new(const char *list, json_t *object)
{
	json_t *values = json_array();
	const char *name;
	json_t *value;
	char *text;

	json_object_foreach(object, name, value) if (field_is_identity(list, name))
		json_array_append(values, value);
	text = json_dumps(values, JSON_COMPACT);
	json_decref(values);
	return text;
}

json_t *fields_index(const char *list, const json_t *objects)
{
	json_t *index = json_object();

	for (size_t i = 0; i < json_array_size(objects); i++) {
		json_t *object = json_array_get(objects, i);
		char *identity = identity_new(list, object);

		json_object_set(index, identity, object);
		free(identity);
	}
	return index;
}

json_t *fields_same(const json_t *index, const char *list, json_t *object)
{
	char *identity = identity_new(list, object);
	json_t *same = json_object_get(index, identity);

	free(identity);
	return same;
}
