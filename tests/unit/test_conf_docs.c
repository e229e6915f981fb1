// SPDX-License-Identifier: BSD-3-Clause
// Proves that the tables of docs/configuration.md agree with the schema. With --write it rewrites
// them: rows keep their order, new ones are added at the end of their table.
#include "conf_dir.h"
#include "conf_explain.h"
#include "conf_schema.h"
#include "test.h"

#define DOCS        SOURCE_DIR "/docs/configuration.md"
#define HEAD        "| Setting | Value | Default | Change | Meaning |\n|---|---|---|---|---|\n"
#define IKE_SECTION "## SAs and policies of IKE\n"

// The end of the text that starts at p: before the next mark, or the end of the text.
static const char *until(const char *p, const char *mark)
{
	const char *end = strstr(p, mark);

	return end != NULL ? end : p + strlen(p);
}

// path: in front of its name.
static void put_row(FILE *out, const struct conf_option *o, const char *path)
{
	const struct conf_explanation e = conf_option_explain(o, path);

	fprintf(out, "| `%s` | %s | %s | %s | %s", e.setting, e.value, e.absent, e.change, e.help);
	if (e.only[0] != '\0')
		fprintf(out, " For %s only.", e.only);
	fputs(" |\n", out);
}

static bool is_for_ike(const struct conf_option *o)
{
	return (o->only & CONF_ONLY_IKE) != 0;
}

// The option of a row of the table; NULL if there is none.
static const struct conf_option *option_of(const struct conf_option *options, const char *row)
{
	char name[64] = "";

	sscanf(row, "| `%63[a-z_]` |", name);
	return conf_option_find(options, name);
}

static void put_table(FILE *out, const struct conf_option *options, const char *old)
{
	const char *end = until(old, "\n\n") + 1;

	fputs(HEAD, out);
	for (const char *row = old; row < end; row = until(row, "\n") + 1)
		if (option_of(options, row) != NULL)
			put_row(out, option_of(options, row), "");
	for (const struct conf_option *o = options; o->name != NULL; o++) {
		char mark[64];

		snprintf(mark, sizeof(mark), "\n| `%s` |", o->name);
		if (until(old, mark) >= end && !is_for_ike(o))
			put_row(out, o, "");
	}
}

// Settings that no file may have have a table of their own.
static void put_ike_table(FILE *out)
{
	fputs(HEAD, out);
	for (const struct conf_kind_info *k = conf_kinds; k < conf_kinds + CONF_KINDS; k++)
		for (const struct conf_option *o = k->options; o->name != NULL; o++)
			if (is_for_ike(o))
				put_row(out, o, conf_format("%s.", k->list));
}

// The options of the section with that heading, "sas.tfc"; NULL if it is about something else.
static const struct conf_option *options_of(const char *heading)
{
	const struct conf_option *options = conf_top_options;
	char path[64], *rest = path, *name;

	snprintf(path, sizeof(path), "%.*s", (int)strcspn(heading, "\n"), heading);
	if (strcmp(path, "Top level") == 0)
		return conf_top_options;
	if (strcmp(path, "Key files") == 0)
		return conf_key_file_options;
	while (options != NULL && (name = strsep(&rest, ".")) != NULL) {
		const struct conf_option *o = conf_option_find(options, name);

		options = o != NULL ? o->options : NULL;
	}
	return options;
}

struct page {
	const char *docs;
	char *text;
	unsigned int n; // tables that it has
};

static void page_make(void *arg)
{
	const struct conf_option *options = NULL;
	bool for_ike = false;
	struct page *page = arg;
	size_t len;
	FILE *out = open_memstream(&page->text, &len);

	for (const char *line = page->docs; *line != '\0'; line = until(line, "\n") + 1) {
		if (strncmp(line, "## ", 3) == 0) {
			for_ike = strncmp(line, IKE_SECTION, strlen(IKE_SECTION)) == 0;
			options = options_of(line + 3);
		}
		if ((options == NULL && !for_ike) || strncmp(line, "| Setting |", 11) != 0) {
			fprintf(out, "%.*s\n", (int)(until(line, "\n") - line), line);
			continue;
		}
		if (for_ike)
			put_ike_table(out);
		else
			put_table(out, options, line);
		line = until(line, "\n\n");
		options = NULL;
		for_ike = false;
		page->n++;
	}
	fclose(out);
}

// The page as it should be, to be freed. *n: the tables that it has.
static char *page_new(const char *docs, unsigned int *n)
{
	struct page page = {.docs = docs};

	assert_int_equal(conf_with_arena(page_make, &page), 0);
	*n = page.n;
	return page.text;
}

// Of all groups and lists.
static unsigned int count_groups(const struct conf_option *options)
{
	unsigned int n = 1;

	for (const struct conf_option *o = options; o->name != NULL; o++)
		if (o->options != NULL)
			n += count_groups(o->options);
	return n;
}

static void test_documentation(void **state)
{
	char *docs = conf_dir_read(DOCS);
	unsigned int n;
	char *page = page_new(docs, &n);

	(void)state;
	assert_int_equal(
		n, count_groups(conf_top_options) + count_groups(conf_key_file_options) + 1);
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
