// SPDX-License-Identifier: BSD-3-Clause
// docs/configuration.md says what the schema says.
#include "conf_dir.h"
#include "conf_schema.h"
#include "test.h"

#define DOCS SOURCE_DIR "/docs/configuration.md"

// The end of what starts at p: before the next mark, or the end of the text.
static const char *until(const char *p, const char *mark)
{
	const char *end = strstr(p, mark);

	return end != NULL ? end : p + strlen(p);
}

// Copies the n-th column of a table's row, counted from 1.
static void column(char *out, size_t size, const char *row, unsigned int n)
{
	const char *end;

	for (unsigned int i = 0; i < n; i++)
		row = strchr(row, '|') + 1;
	end = strchr(row, '|');
	assert_non_null(end);
	assert_in_range(end - row, 1, size - 1);
	snprintf(out, size, "%.*s", (int)(end - row), row);
}

static void must_say(const char *name, const char *text, const char *word)
{
	if (strstr(text, word) == NULL)
		fail_msg("%s: %s: \"%s\" does not say %s", DOCS, name, text, word);
}

static void must_say_number(const char *name, const char *text, unsigned int n)
{
	char word[16];

	snprintf(word, sizeof(word), "%u", n);
	must_say(name, text, word);
}

static void check_option(const char *docs, const char *heading, const struct conf_option *o)
{
	char mark[128], value[512], def[128];
	const char *section, *row;

	snprintf(mark, sizeof(mark), "\n## %s\n", heading);
	section = strstr(docs, mark);
	if (section == NULL)
		fail_msg("%s: no section \"%s\"", DOCS, heading);
	snprintf(mark, sizeof(mark), "\n| `%s` |", o->name);
	row = strstr(section, mark);
	if (row == NULL || row > until(section + 1, "\n## "))
		fail_msg("%s: no row \"%s\" in section \"%s\"", DOCS, o->name, heading);
	column(value, sizeof(value), row, 2);
	column(def, sizeof(def), row, 3);
	if (o->max > 0) {
		must_say_number(o->name, value, o->min);
		must_say_number(o->name, value, o->max);
	}
	if (o->n_max > 0 && o->shape == CONF_ARRAY)
		must_say_number(o->name, value, o->n_max);
	for (unsigned int i = 0; o->choices != NULL && o->choices[i] != NULL; i++)
		must_say(o->name, value, o->choices[i]);
	for (unsigned int i = 0; o->type == &conf_type_proto && o->type->word(o, i) != NULL; i++)
		must_say(o->name, value, o->type->word(o, i));
	if (o->required)
		must_say(o->name, def, "required");
	if (o->def != NULL) {
		snprintf(mark, sizeof(mark), " `%s` ", o->def);
		must_say(o->name, def, mark);
	}
}

static void check_schema(const char *docs, const char *heading, const struct conf_schema *schema)
{
	bool top = schema == &conf_schema;
	char name[128];

	for (const struct conf_option *o = schema->options; o->name != NULL; o++) {
		check_option(docs, heading, o);
		snprintf(name, sizeof(name), "%.60s%s%.60s", top ? "" : heading, top ? "" : ".",
			o->name);
		if (o->schema != NULL)
			check_schema(docs, name, o->schema);
	}
}

static void test_documentation(void **state)
{
	char *docs = conf_dir_read(DOCS);

	(void)state;
	check_schema(docs, "Top level", &conf_schema);
	check_schema(docs, "Key files", &conf_key_schema);
	for (const struct cipher_alg *a = cipher_algs; a->name != NULL; a++)
		must_say("cipher", docs, a->name);
	for (const struct auth_alg *a = auth_algs; a->name != NULL; a++)
		must_say("auth", docs, a->name);
	free(docs);
}

static void test_documented_example(void **state)
{
	char *docs = conf_dir_read(DOCS);
	const char *section = strstr(docs, "\n## Complete example\n");
	const char *start;

	(void)state;
	assert_non_null(section);
	start = strstr(section, "\n```\n");
	assert_non_null(start);
	start += 5;
	conf_dir_write("documented.conf", start, (size_t)(until(start, "\n```") - start));
	conf_free(conf_dir_load_good("documented.conf"));
	conf_dir_unlink("documented.conf");
	free(docs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_documentation),
		cmocka_unit_test(test_documented_example),
	};

	return cmocka_run_group_tests(tests, conf_dir_make, conf_dir_remove);
}
