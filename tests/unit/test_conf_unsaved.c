// SPDX-License-Identifier: BSD-3-Clause
// Changes at run time that a reload of a file would discard.
#include "conf_unsaved.h"

#include "conf_apply.h"
#include "conf_dir.h"
#include "test.h"

#define KEY  "cipher = \"aes-128-gcm\"; cipher_key = \"202122232425262728292a2b2c2d2e2f30313233\";"
#define ENDS "local = \"192.0.2.1\"; remote = \"192.0.2.2\"; "
#define NEXT "name = \"to-b-2\"; direction = \"out\"; spi = \"0x1003\"; " ENDS KEY

static struct conf *try(const struct conf *was, const char *request)
{
	struct conf *c = conf_change(was, "argument", request, strlen(request), stderr);

	assert_non_null(c);
	return c;
}

static void print_unsaved(FILE *out, const struct conf_change *d)
{
	if (d->unsaved)
		fprintf(out, "%s %s %s%s%s\n", conf_change_word(d), conf_kinds[d->kind].noun,
			d->name, d->setting != NULL ? " " : "",
			d->setting != NULL ? d->setting : "");
}

// After these requests, which end with NULL, a reload of this file discards so much.
static void check_unsaved(const char *const requests[], const struct conf *file, const char *lost)
{
	const struct conf *was = conf_sample;
	struct conf *now[4] = {NULL};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct conf_changes *list;

	for (unsigned int i = 0; requests[i] != NULL; i++) {
		now[i] = try(was, requests[i]);
		was = now[i];
	}
	list = conf_diff(was, file);
	for (unsigned int i = 0; i < list->n; i++)
		print_unsaved(out, &list->change[i]);
	conf_changes_free(list);
	fclose(out);
	assert_string_equal(text, lost);
	free(text);
	for (unsigned int i = 0; requests[i] != NULL; i++)
		conf_free(now[i]);
}

#define check_lost(lost, ...)                                                                      \
	check_unsaved((const char *const[]){__VA_ARGS__, NULL}, conf_sample, lost)

static void test_unsaved(void **state)
{
	(void)state;
	check_lost("removed sa to-b-2\n", "sa add {" NEXT "}");
	check_lost("removed sa to-b-2\nchanged policy site-b out\n", "sa add {" NEXT "}",
		"policy set site-b { out = \"to-b-2\"; }");
	check_lost("added policy rest\n", "policy del rest");
	check_lost("changed sa to-b lifetime.soft_seconds\n"
		   "changed sa to-b lifetime.hard_seconds\n",
		"sa set to-b { lifetime = { soft_seconds = 8; hard_seconds = 9; }; }");
	check_lost("changed sa to-b cipher_key\n",
		"sa set to-b { cipher_key = \"dead0203040506070809beef0c0d0e0fa0a1a2a3\"; }");
	check_lost(
		"added policy rest\nremoved policy none\n", "policy set rest { name = \"none\"; }");
}

// Changes that were undone, or that the file has as well, are not lost, whatever else was edited
// there.
static void test_saved(void **state)
{
	struct conf *file;

	(void)state;
	check_lost("", "sa set to-b { ttl = 9; }", "sa set to-b { ttl = 64; }");
	check_lost("", "sa add {" NEXT "}", "sa del to-b-2",
		"rule add { name = \"r\"; action = \"drop\"; }", "rule del r");
	file = conf_sample_edited(
		"cipher_key = \"0x0001", "ttl = 9; esn = true; cipher_key = \"0x0001");
	check_unsaved((const char *const[]){"sa set to-b { ttl = 9; }", NULL}, file, "");
	check_unsaved((const char *const[]){"sa set to-b { ttl = 8; }", NULL}, file,
		"changed sa to-b ttl\n");
	conf_free(file);
	file = conf_sample_edited(",\n  { name = \"rest\"; action = \"discard\"; }", "");
	check_unsaved((const char *const[]){"policy set rest { proto = 47; }", NULL}, file, "");
	conf_free(file);
	file = conf_sample_edited("{ name = \"rest\"",
		"{ name = \"x\"; proto = 47; action = \"bypass\"; },\n"
		"{ name = \"rest\"");
	check_unsaved(
		(const char *const[]){
			"policy add first { name = \"x\"; proto = 47; action = \"bypass\"; }",
			NULL},
		file, "moved policy site-b\n");
	conf_free(file);
}

// A program that adds and deletes for years leaves no memory allocated.
static void test_unsaved_bounded(void **state)
{
	struct conf *c =
		try(conf_sample, "route add { to = \"10.7.0.0/16\"; via = \"192.0.2.7\"; }");

	(void)state;
	for (unsigned int i = 0; i < 20; i++) {
		char request[256];
		struct conf *next;

		snprintf(request, sizeof(request),
			"route del 10.%u.0.0/16; route add { to = \"10.%u.0.0/16\"; via = "
			"\"192.0.2.7\"; }",
			7 + i, 8 + i);
		next = try(c, request);
		conf_free(c);
		c = next;
	}
	assert_int_equal(c->tree->unsaved->n, 1);
	conf_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unsaved),
		cmocka_unit_test(test_saved),
		cmocka_unit_test(test_unsaved_bounded),
	};

	return cmocka_run_group_tests(tests, conf_sample_start, conf_sample_stop);
}
