// SPDX-License-Identifier: BSD-3-Clause
// Proves that the tables of docs/configuration.md agree with the schema. With --write it rewrites
// them: rows keep their order, new ones are added at the end of their table.
#include "conf_dir.h"
#include "conf_schema.h"
#include "test.h"

#define DOCS SOURCE_DIR "/docs/configuration.md"
#define HEAD "| Setting | Value | Default | Change | Meaning |\n|---|---|---|---|---|\n"

// The end of what starts at p: before the next mark, or the end of the text.
static const char *until(const char *p, const char *mark)
{
	const char *end = strstr(p, mark);

	return end != NULL ? end : p + strlen(p);
}

// A text of messages, with code as Markdown has it.
static void put_text(FILE *out, const char *text, const char *end)
{
	for (; text < end; text++)
		putc(*text == '"' ? '`' : *text, out);
}

// "`a`, `b` or `c`"
static void put_words(FILE *out, const struct conf_option *o)
{
	const char *word;

	for (unsigned int i = 0; (word = o->type->word(o, i)) != NULL; i++)
		fprintf(out, "%s`%s`",
			i == 0                            ? ""
			: o->type->word(o, i + 1) == NULL ? " or "
							  : ", ",
			word);
}

static const char *without_article(const char *text)
{
	return text + (strncmp(text, "an ", 3) == 0 ? 3 : strncmp(text, "a ", 2) == 0 ? 2 : 0);
}

static void put_value(FILE *out, const struct conf_option *o)
{
	const char *text = o->type->allowed;
	bool only_words = strcmp(text, "one of") == 0 && o->shape == CONF_VALUE;

	if (o->shape == CONF_VALUE)
		text = without_article(text);
	if (o->type == &conf_type_bool)
		text = "`true` or `false`";
	if (!only_words)
		put_text(out, text, until(text, o->max > 0 ? " such as" : "\n"));
	if (o->type->word != NULL && !only_words)
		putc(' ', out);
	if (o->type->word != NULL)
		put_words(out, o);
	else if (o->max > 0)
		fprintf(out, " from %u to %u", o->min, o->max);
}

static void put_shape(FILE *out, const struct conf_option *o)
{
	if (o->shape == CONF_GROUP)
		fputs("group", out);
	else if (o->shape == CONF_LIST)
		fprintf(out, "list of %u to %u groups", o->n_min, o->n_max);
	else if (o->shape == CONF_ARRAY)
		fprintf(out, "array of %u to %u, each ", o->n_min, o->n_max);
	if (o->type != NULL)
		put_value(out, o);
}

static void put_default(FILE *out, const struct conf_option *o)
{
	if (o->required)
		fputs("required", out);
	if (o->def != NULL)
		fprintf(out, "`%s`", o->def);
	if (o->absent != NULL)
		fprintf(out, "%s%s", o->def != NULL ? "; " : "", o->absent);
}

static bool needs_restart(const struct conf_option *o)
{
	bool restart = o->restart;

	for (const struct conf_option *in = o->schema != NULL ? o->schema->options : NULL;
		in != NULL && in->name != NULL; in++)
		restart |= in->restart;
	return restart;
}

static void put_only(FILE *out, unsigned int only)
{
	static const char *const texts[] = {[0] = "",
		[CONF_ONLY_IN] = " For direction `in` only.",
		[CONF_ONLY_OUT] = " For direction `out` only.",
		[CONF_ONLY_PROTECT] = " For action `protect` only.",
		[CONF_ONLY_TUNNEL] = " For mode `tunnel` only.",
		[CONF_ONLY_OUT | CONF_ONLY_TUNNEL] =
			" For direction `out` and mode `tunnel` only."};

	assert_in_range(only, 0, sizeof(texts) / sizeof(texts[0]) - 1);
	fputs(texts[only], out);
}

// Groups have no changes of their own, lists those of their elements.
static const char *change_of(const struct conf_option *o)
{
	if (o->shape == CONF_GROUP)
		return "";
	return needs_restart(o) ? "restart" : "reload";
}

static void put_row(FILE *out, const struct conf_option *o)
{
	fprintf(out, "| `%s` | ", o->name);
	put_shape(out, o);
	fputs(" | ", out);
	put_default(out, o);
	fprintf(out, " | %s | %s", change_of(o), o->help);
	put_only(out, o->only);
	fputs(" |\n", out);
}

// The option of a row of the table; NULL if there is none.
static const struct conf_option *option_of(const struct conf_schema *schema, const char *row)
{
	char name[64] = "";

	sscanf(row, "| `%63[a-z_]` |", name);
	return conf_schema_find(schema, name);
}

static void put_table(FILE *out, const struct conf_schema *schema, const char *old)
{
	const char *end = until(old, "\n\n") + 1;

	fputs(HEAD, out);
	for (const char *row = old; row < end; row = until(row, "\n") + 1)
		if (option_of(schema, row) != NULL)
			put_row(out, option_of(schema, row));
	for (const struct conf_option *o = schema->options; o->name != NULL; o++) {
		char mark[64];

		snprintf(mark, sizeof(mark), "\n| `%s` |", o->name);
		if (until(old, mark) >= end)
			put_row(out, o);
	}
}

// The schema of the section with that heading, "sas.tfc"; NULL if it is about something else.
static const struct conf_schema *schema_of(const char *heading)
{
	const struct conf_schema *schema = &conf_schema;
	char path[64], *rest = path, *name;

	snprintf(path, sizeof(path), "%.*s", (int)strcspn(heading, "\n"), heading);
	if (strcmp(path, "Top level") == 0)
		return &conf_schema;
	if (strcmp(path, "Key files") == 0)
		return &conf_key_schema;
	while (schema != NULL && (name = strsep(&rest, ".")) != NULL) {
		const struct conf_option *o = conf_schema_find(schema, name);

		schema = o != NULL ? o->schema : NULL;
	}
	return schema;
}

// The page as it should be, to be freed. *n: the tables that it has.
static char *page_new(const char *docs, unsigned int *n)
{
	const struct conf_schema *schema = NULL;
	char *page;
	size_t len;
	FILE *out = open_memstream(&page, &len);

	*n = 0;
	for (const char *line = docs; *line != '\0'; line = until(line, "\n") + 1) {
		if (strncmp(line, "## ", 3) == 0)
			schema = schema_of(line + 3);
		if (schema == NULL || strncmp(line, "| Setting |", 11) != 0) {
			fprintf(out, "%.*s\n", (int)(until(line, "\n") - line), line);
			continue;
		}
		put_table(out, schema, line);
		line = until(line, "\n\n");
		schema = NULL;
		++*n;
	}
	fclose(out);
	return page;
}

// Of all groups and lists.
static unsigned int count_schemas(const struct conf_schema *schema)
{
	unsigned int n = 1;

	for (const struct conf_option *o = schema->options; o->name != NULL; o++)
		if (o->schema != NULL)
			n += count_schemas(o->schema);
	return n;
}

static void test_documentation(void **state)
{
	char *docs = conf_dir_read(DOCS);
	unsigned int n;
	char *page = page_new(docs, &n);

	(void)state;
	assert_int_equal(n, count_schemas(&conf_schema) + count_schemas(&conf_key_schema));
	if (strcmp(docs, page) != 0)
		fail_msg("%s differs from lib/conf: build/tests/unit/test_conf_docs --write", DOCS);
	for (const struct cipher_alg *a = cipher_algs; a->name != NULL; a++)
		assert_non_null(strstr(until(docs, "\n### Algorithms"), a->name));
	for (const struct auth_alg *a = auth_algs; a->name != NULL; a++)
		assert_non_null(strstr(until(docs, "\n### Algorithms"), a->name));
	free(page);
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

static int docs_write(void)
{
	unsigned int n;
	char *docs = conf_dir_read(DOCS), *page = page_new(docs, &n);
	FILE *out = fopen(DOCS, "w");

	if (out == NULL || fputs(page, out) < 0 || fclose(out) != 0)
		return 1;
	free(page);
	free(docs);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_documentation),
		cmocka_unit_test(test_documented_example),
	};

	if (argc == 2 && strcmp(argv[1], "--write") == 0)
		return docs_write();
	return cmocka_run_group_tests(tests, conf_dir_make, conf_dir_remove);
}
