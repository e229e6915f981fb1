// SPDX-License-Identifier: BSD-3-Clause
// Configurations as revisions: a text that was written is read as the same configuration, with its
// keys, and differences are changes at run time where they are to be.
#include "conf_revision.h"

#include "conf_apply.h"
#include "conf_dir.h"
#include "test.h"

static char *written(const struct conf *c, size_t *len)
{
	char *text;
	FILE *f = open_memstream(&text, len);

	conf_revision_write(c, f);
	fclose(f);
	return text;
}

static struct conf *reread(
	const char *text, size_t len, const struct conf *running, bool unsaved, FILE *errors)
{
	const struct conf_revision r = {.name = "revision 7",
		.text = text,
		.len = len,
		.conf_path = conf_dir_path("site.conf"),
		.unsaved = unsaved};

	return conf_revision_read(&r, running, errors);
}

static unsigned int n_different(const struct conf *from, const struct conf *to, bool unsaved)
{
	struct conf_changes *list = conf_diff(from, to);
	unsigned int n = 0;

	for (unsigned int i = 0; i < list->n; i++)
		n += !unsaved || list->change[i].unsaved;
	conf_changes_free(list);
	return n;
}

// With the same key files.
static void shown_alike(const struct conf *c, const struct conf *again)
{
	char *text = conf_dir_printed(c), *text_again = conf_dir_printed(again);

	assert_string_equal(text, text_again);
	free(text);
	free(text_again);
}

// Nothing is lost of any configuration that there is in this folder.
static void same(const char *name)
{
	struct conf *c, *again;
	char *errors, *text;
	size_t len;

	c = conf_dir_load(&errors, name);
	free(errors);
	if (c == NULL)
		return; // it is one with mistakes
	text = written(c, &len);
	again = reread(text, len, NULL, false, stderr);
	assert_non_null(again);
	assert_int_equal(n_different(c, again, false), 0);
	shown_alike(c, again);
	conf_free(again);
	// Nothing needs a restart.
	again = reread(text, len, c, true, stderr);
	assert_non_null(again);
	assert_int_equal(conf_unsaved_count(again), 0);
	conf_free(again);
	conf_free(c);
	free(text);
}

static void test_same(void **state)
{
	(void)state;
	assert_true(conf_dir_each(conf_dir(), ".conf", same) > 10);
}

static void test_unsaved(void **state)
{
	static const char change[] =
		"policy add first { name = \"new\"; local = \"10.1.0.0/24\"; remote = "
		"\"10.77.0.0/24\"; action = \"bypass\"; }\n"
		"sa set to-b { lifetime = { soft_packets = 5L; }; }\npolicy del rest\n";
	struct conf *changed = conf_change(conf_sample, "argument", change, strlen(change), stderr);
	struct conf *now, *back;
	char *text;
	size_t len;

	(void)state;
	assert_non_null(changed);
	text = written(changed, &len);
	now = reread(text, len, NULL, false, stderr); // as a file has it
	free(text);
	conf_free(changed);
	text = written(conf_sample, &len);
	back = reread(text, len, now, true, stderr);
	assert_int_equal(n_different(now, back, false), 3);
	// A reload of a file as it was before would discard all of these.
	assert_int_equal(n_different(back, now, true), 3);
	conf_free(back);
	back = reread(text, len, now, false, stderr);
	assert_int_equal(n_different(back, now, true), 0);
	conf_free(back);
	free(text);
	conf_free(now);
}

static void test_mistakes(void **state)
{
	static const char bad[] = "ports = ( );\nnothing = 1;\n";
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	assert_null(reread(bad, strlen(bad), NULL, false, f));
	fclose(f);
	assert_non_null(strstr(text, "revision 7:2: nothing: unknown setting"));
	assert_non_null(strstr(text, "revision 7:1: ports"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_unsaved),
		cmocka_unit_test(test_mistakes),
	};

	return cmocka_run_group_tests(tests, conf_sample_start, conf_sample_stop);
}
