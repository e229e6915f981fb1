// SPDX-License-Identifier: BSD-3-Clause
#include "schema.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "conf_explain.h"
#include "output.h"
#include "version.h"

static json_t *object_new(void)
{
	return json_pack(
		"{s:s, s:{}, s:b}", "type", "object", "properties", "additionalProperties", 0);
}

static json_t *words_new(const char *const *words)
{
	json_t *list = json_array();

	for (; *words != NULL; words++)
		json_array_append_new(list, json_string(*words));
	return json_pack("{s:o}", "enum", list);
}

// A value without an array, but for words.
static json_t *plain_new(const struct conf_json *j)
{
	static const struct {
		unsigned int kind;
		const char *type;
	} rows[] = {{CONF_JSON_STRING, "string"}, {CONF_JSON_INTEGER, "integer"},
		{CONF_JSON_BOOLEAN, "boolean"}};
	json_t *types = json_array(), *value = json_pack("{s:o}", "type", types);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if ((j->kinds & rows[i].kind) != 0)
			json_array_append_new(types, json_string(rows[i].type));
	if ((j->kinds & CONF_JSON_INTEGER) != 0)
		json_object_set_new(value, "minimum", json_integer(j->min));
	if (j->max > 0)
		json_object_set_new(value, "maximum", json_integer(j->max));
	if (j->pattern != NULL)
		json_object_set_new(value, "pattern", json_string(j->pattern));
	else if ((j->kinds & CONF_JSON_STRING) != 0)
		json_object_set_new(value, "minLength", json_integer(1));
	return value;
}

static json_t *element_new(const struct conf_json *j)
{
	if ((j->kinds & CONF_JSON_OBJECT) != 0)
		return object_new();
	if (j->words == NULL)
		return plain_new(j);
	if ((j->kinds & CONF_JSON_INTEGER) == 0)
		return words_new(j->words);
	return json_pack("{s:[o, o]}", "anyOf", words_new(j->words), plain_new(j));
}

static json_t *value_new(const struct conf_json *j)
{
	json_t *array;

	if ((j->kinds & CONF_JSON_ARRAY) == 0)
		return element_new(j);
	array = json_pack("{s:s, s:o, s:i}", "type", "array", "items", element_new(j), "minItems",
		(int)j->n_min);
	if (j->n_max > 0)
		json_object_set_new(array, "maxItems", json_integer(j->n_max));
	if ((j->kinds & CONF_JSON_ALONE) == 0)
		return array;
	return json_pack("{s:[o, o]}", "anyOf", element_new(j), array);
}

static json_t *default_new(const struct conf_json *j)
{
	bool digits = j->def[strspn(j->def, "0123456789")] == '\0';
	json_t *value =
		(j->kinds & CONF_JSON_BOOLEAN) != 0 ? json_boolean(strcmp(j->def, "true") == 0)
		: (j->kinds & CONF_JSON_INTEGER) != 0 && digits ? json_integer(atoll(j->def))
								: json_string(j->def);

	return (j->kinds & (CONF_JSON_ARRAY | CONF_JSON_ALONE)) == CONF_JSON_ARRAY
		       ? json_pack("[o]", value)
		       : value;
}

// TEXT without Markdown after BEFORE, in *all; nothing if it is empty.
static void append(char **all, const char *before, const char *text)
{
	json_t *plain = output_plain_new(text);
	char *longer;

	if (text[0] != '\0') {
		if (asprintf(&longer, "%s%s%s.", *all, before, json_string_value(plain)) < 0)
			err(EXIT_FAILED, "explain");
		free(*all);
		*all = longer;
	}
	json_decref(plain);
}

// For people who edit.
static json_t *description_new(const struct conf_explanation *e)
{
	char *text = strdup("");
	json_t *description;

	append(&text, "", e->help);
	text[strlen(text) - 1] = '\0'; // the help ends with a full stop of its own
	append(&text, " Default: ", e->json.required ? "" : e->absent);
	append(&text, " Only for ", e->only);
	append(&text, " Changed by a ", e->change);
	description = json_string(text);
	free(text);
	return description;
}

// The object that the last word of a path, *name, is a property of.
static json_t *owner_find(json_t *object, char *path, const char **name)
{
	char *rest = path, *word = strsep(&rest, ".");

	for (; rest != NULL; word = strsep(&rest, ".")) {
		json_t *items;

		object = json_object_get(json_object_get(object, "properties"), word);
		items = json_object_get(object, "items");
		object = items != NULL ? items : object;
	}
	*name = word;
	return object;
}

static void setting_add(void *root, const struct conf_explanation *e)
{
	char *path = strdup(e->setting);
	json_t *value = value_new(&e->json), *required, *owner;
	const char *name;

	if (path == NULL || value == NULL)
		errx(EXIT_FAILED, "explain: out of memory");
	owner = owner_find(root, path, &name);
	json_object_set_new(value, "description", description_new(e));
	if (e->json.def != NULL)
		json_object_set_new(value, "default", default_new(&e->json));
	json_object_set_new(json_object_get(owner, "properties"), name, value);
	if (e->json.required) {
		required = json_object_get(owner, "required");
		if (required == NULL)
			json_object_set_new(owner, "required", required = json_array());
		json_array_append_new(required, json_string(name));
	}
	free(path);
}

json_t *schema_new(void)
{
	json_t *root = object_new();

	json_object_set_new(
		root, "$schema", json_string("http://json-schema.org/draft-07/schema#"));
	json_object_set_new(root, "title", json_string("Culvert " CULVERT_VERSION));
	if (conf_explain(setting_add, root) < 0)
		errx(EXIT_FAILED, "explain: out of memory");
	return root;
}
