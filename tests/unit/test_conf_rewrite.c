// SPDX-License-Identifier: BSD-3-Clause
// Files after conf_rewrite(): they have the changes, and everything else as before.
#include "conf_rewrite.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "conf_apply.h"
#include "conf_change.h"
#include "conf_dir.h"
#include "conf_revision.h"
#include "rewritten.h"
#include "test.h"

#define PORTS                                                                                      \
	"ports = ( { name = \"lan\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/24\" ]; },"  \
	"{ name = \"wan\"; device = \"net_null1\"; addresses = [ \"192.0.2.1/24\" ]; } );\n"
#define R(name)    "{ name = \"r" name "\"; proto = " name "; action = \"drop\"; }"
#define SA_IS      "local = \"192.0.2.1\"; remote = \"192.0.2.2\"; cipher = \"aes-128-gcm\";"
#define SA(n)      "name = \"s" n "\"; direction = \"in\"; spi = 0x100" n "; " SA_IS
#define INLINE_KEY "cipher_key = \"202122232425262728292a2b2c2d2e2f30313233\";"
#define FILE_KEY   "303132333435363738393a3b3c3d3e3f40414243\n"
#define OTHER_KEY  "404142434445464748494a4b4c4d4e4f50515253\n"

static void write_text(const char *name, const char *text)
{
	conf_dir_write(name, text, strlen(text));
}

static void check_file(const char *name, const char *expected)
{
	char *text = conf_dir_read(conf_dir_path(name));

	assert_string_equal(text, expected);
	free(text);
}

// The configuration of run.conf after r1 request.
static struct conf *changed(const char *request)
{
	struct conf *file = conf_dir_load_good("run.conf");
	struct conf *c = conf_change(file, "argument", request, strlen(request), stderr);

	assert_non_null(c);
	conf_free(file);
	return c;
}

// To be freed; empty after messages.
static char *rewritten(const struct conf *running, char **errors)
{
	size_t size;
	char *result;
	FILE *out = open_memstream(&result, &size), *err = open_memstream(errors, &size);
	bool ok = conf_rewrite(running, conf_dir_path("run.conf"), out, err);

	fclose(out);
	fclose(err);
	if (!ok)
		assert_string_equal(result, "");
	return result;
}

static void check_same(const struct conf *running)
{
	struct conf *again = conf_dir_load_good("run.conf");
	struct conf_changes *list = conf_diff(running, again);

	assert_int_equal(list->n, 0);
	conf_changes_free(list);
	conf_free(again);
}

// The request makes this file of run.conf.
static void check(const char *before, const char *request, const char *after)
{
	struct conf *running;
	char *errors, *result;

	write_text("run.conf", before);
	running = changed(request);
	result = rewritten(running, &errors);
	assert_string_equal(errors, "");
	rewritten_apply(result);
	check_file("run.conf", after);
	check_same(running);
	conf_free(running);
	free(result);
	free(errors);
}

static void check_refused(const struct conf *running, const char *why)
{
	char *errors, *result = rewritten(running, &errors);

	if (strstr(errors, why) == NULL)
		fail_msg("\"%s\" is not in: %s", why, errors);
	free(result);
	free(errors);
}

static void test_nothing(void **state)
{
	struct conf *c;
	char *errors, *result;

	(void)state;
	write_text("run.conf", PORTS);
	c = conf_dir_load_good("run.conf");
	result = rewritten(c, &errors);
	assert_string_equal(result, "");
	free(result);
	free(errors);
	conf_free(c);
}

static void test_settings(void **state)
{
	(void)state;
	check(PORTS "rules = ( { name = \"r1\"; proto = 6; action = \"drop\" } );",
		"rule set r1 { action = \"accept\"; log = true; }",
		PORTS
		"rules = ( { name = \"r1\"; proto = 6; action = \"accept\"; log = true; } );");
	check(PORTS "rules = (\n  # all\n  {\n    name = \"r1\"; # its name\n"
		    "    action = \"drop\" # not accept\n  }\n);\n",
		"rule set r1 { proto = 17; log = true; }",
		PORTS
		"rules = (\n  # all\n  {\n    name = \"r1\"; # its name\n"
		"    action = \"drop\"; # not accept\n    proto = 17;\n    log = true;\n  }\n);\n");
	check(PORTS "sas = ( { " SA("1") INLINE_KEY
		"\n\tlifetime = { /* a */ soft_seconds = 7; /* b */ }; } );\n",
		"sa set s1 { lifetime = { soft_seconds = 8; hard_seconds = 9; }; }",
		PORTS "sas = ( { " SA("1") INLINE_KEY
		"\n\tlifetime = { /* a */ soft_seconds = 8; hard_seconds = 9; /* b */ }; } );\n");
	check(PORTS "sas = ( { " SA("1") INLINE_KEY "\n lifetime = {\r\n  soft_seconds = 7;\r\n"
						    "  hard_seconds = 9; # hard\r\n }; } );\r\n",
		"sa set s1 { lifetime = { soft_seconds = 8; }; }",
		PORTS "sas = ( { " SA("1") INLINE_KEY "\n lifetime = {\r\n  soft_seconds = 8;\r\n"
						      " }; } );\r\n");
}

#define HOST_PORTS                                                                                 \
	"ports = ( { name = \"lan\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/24\" ]; },"  \
	"{ name = \"wan\"; device = \"net_null1\"; addresses = [ \"host\" ]; host = \"wan0\";"     \
	" side = \"unprotected\"; } );\n"
#define HOST_SA(n)                                                                                 \
	"name = \"s" n "\"; direction = \"in\"; spi = 0x100" n "; local = \"wan\";"                \
	" remote = \"192.0.2.9\"; cipher = \"aes-128-gcm\"; key_file = \"" n ".key\";"

// An SA at an address of the host: the file has the name of the port, not the present address.
static void test_port_as_local(void **state)
{
	static const char request[] =
		"sa set s1 { replay_window = 128; }\nsa add { " HOST_SA("2") " }";
	struct conf_followed host = {.n = 1};
	char *errors, *result;
	struct conf *file, *running;

	(void)state;
	assert_int_equal(
		ip_interface_parse(&host.addr[0].addr, &host.addr[0].net, "192.0.2.5/24"), 0);
	write_text("1.key", FILE_KEY);
	write_text("2.key", OTHER_KEY);
	write_text("run.conf", HOST_PORTS "sas = ( { " HOST_SA("1") " } );\n");
	file = conf_dir_load_good("run.conf");
	conf_follow_host(file, 1, &host, stderr);
	running = conf_change(file, "argument", request, strlen(request), stderr);
	assert_non_null(running);
	conf_follow_host(running, 1, &host, stderr);
	assert_false(ip_addr_is_none(&running->sas[1].opt.local));
	result = rewritten(running, &errors);
	assert_string_equal(errors, "");
	rewritten_apply(result);
	check_file("run.conf", HOST_PORTS
		"sas = ( { " HOST_SA("1") " replay_window = 128; }, { " HOST_SA("2") " } );\n");
	check_same(running);
	conf_free(file);
	conf_free(running);
	free(result);
	free(errors);
}

static void test_items(void **state)
{
	(void)state;
	check(PORTS "rules = (\n  " R("1") ", # first\n  # second\n  " R("2") "\n);\n",
		"rule add { name = \"r3\"; proto = 3; action = \"drop\"; }; rule add first { name "
		"= \"r4\"; proto = 4; action = \"drop\"; }",
		PORTS "rules = (\n  " R("4") ",\n  " R("1") ", # first\n  # second\n  " R(
			"2") ",\n  " R("3") "\n);\n");
	check(PORTS "rules = (\n  " R("1") ", # first\n  # second\n  " R("2") "\n);\n",
		"rule del r2", PORTS "rules = (\n  " R("1") " # first\n  # second\n);\n");
	check(PORTS "rules = (" R("1") ", " R("2") ", " R("3") ");",
		"rule del r2; rule add after r1 { name = \"r4\"; proto = 4; action = \"drop\"; }",
		PORTS "rules = (" R("1") ", " R("4") ", " R("3") ");");
	check(PORTS "rules = (" R("1") ", " R("2") ");", "rule del r1; rule del r2",
		PORTS "rules = ();");
	check(PORTS "rules = (\n);", "rule add { name = \"r1\"; proto = 1; action = \"drop\"; }",
		PORTS "rules = (\n  " R("1") "\n);");
	check(PORTS "# end", "rule add { name = \"r1\"; proto = 1; action = \"drop\"; }",
		PORTS "# end\nrules = (\n  " R("1") "\n);\n");
	check(PORTS
		"rules = (\n\t{\n\t\tname = \"r1\"; proto = 1;\n\t\taction = \"drop\";\n\t}\n);\n",
		"rule add { name = \"r2\"; proto = 2; action = \"drop\"; }",
		PORTS
		"rules = (\n\t{\n\t\tname = \"r1\"; proto = 1;\n\t\taction = \"drop\";\n\t},\n"
		"\t{\n\t\tname = \"r2\";\n\t\tproto = 2;\n\t\taction = \"drop\";\n\t}\n);\n");
	check(PORTS "rules = (\n  " R("1") "\n  , " R("2") "\n  , " R("3") "\n);\n", "rule del r2",
		PORTS "rules = (\n  " R("1") "\n  , " R("3") "\n);\n");
}

static void test_moves(void **state)
{
	(void)state;
	check(PORTS "rules = (\n  # the\n  # first\n  " R("1") ", # a\n\n  # second\n  " R(
		      "2") " # b\n);\n",
		"rule del r1; rule add { name = \"r1\"; proto = 1; action = \"accept\"; }",
		PORTS "rules = (\n  # second\n  " R(
			"2") ", # b\n  # the\n  # first\n"
			     "  { name = \"r1\"; proto = 1; action = \"accept\"; } # a\n\n);\n");
	check(PORTS "rules = ( " R("1") ", " R("2") ", " R("3") " );",
		"rule del r3; rule add first { name = \"r3\"; proto = 3; action = \"drop\"; }",
		PORTS "rules = ( " R("3") ", " R("1") ", " R("2") " );");
}

static void test_included(void **state)
{
	struct conf *running;
	char *errors, *result;

	(void)state;
	write_text("run.conf",
		PORTS "@include \"r.inc\"\npolicies = (\n"
		      "  { name = \"p\"; action = \"discard\"; }\n);\n@include \"s.inc\"\n");
	write_text("r.inc", "# rules\nrules = ( " R("1") ",\n" R("2") " )");
	write_text("s.inc", "sas = ( { " SA("1") "key_file = \"s.key\"; } ); # here\n");
	write_text("s.key", FILE_KEY);
	running = changed("rule del r1; rule add { name = \"r3\"; proto = 3; action = \"drop\"; };"
			  "policy set p { proto = 7; }; sa set s1 { replay_window = 256; }");
	result = rewritten(running, &errors);
	assert_string_equal(errors, "");
	assert_int_equal(rewritten_apply(result), 3);
	check_file("run.conf", PORTS "@include \"r.inc\"\npolicies = (\n"
				     "  { name = \"p\"; action = \"discard\"; proto = 7; }\n);\n"
				     "@include \"s.inc\"\n");
	check_file("r.inc", "# rules\nrules = (\n" R("2") ", " R("3") " )");
	check_file("s.inc",
		"sas = ( { " SA("1") "key_file = \"s.key\"; replay_window = 256; } ); # here\n");
	check_same(running);
	conf_free(running);
	free(result);
	free(errors);
}

static void test_parted(void **state)
{
	struct conf *running;

	(void)state;
	write_text("run.conf", PORTS "rules = ( {\n@include \"r.inc\"\n } );\n");
	write_text("r.inc", "name = \"r1\"; action = \"drop\";");
	running = changed("rule del r1");
	check_refused(running, "run.conf:2: this rule is in several files: edit them by hand");
	conf_free(running);
}

static void test_keys(void **state)
{
	struct conf *running;

	(void)state;
	write_text("s.key", FILE_KEY);
	check(PORTS "sas = ( { " SA("1") INLINE_KEY " } );\n",
		"sa set s1 { key_file = \"s.key\"; }; sa set s1 { replay_window = 256; }",
		PORTS "sas = ( { " SA("1") " replay_window = 256; key_file = \"s.key\"; } );\n");
	check(PORTS "sas = ( { " SA("1") INLINE_KEY " } );\n", "sa set s1 { replay_window = 256; }",
		PORTS "sas = ( { " SA("1") INLINE_KEY " replay_window = 256; } );\n");
	check(PORTS "sas = ( { " SA("1") INLINE_KEY " } );\n",
		"sa add { " SA("2") "key_file = \"s.key\"; }",
		PORTS "sas = ( { " SA("1") INLINE_KEY
		" }, { " SA("2") " key_file = \"s.key\"; } );\n");
	write_text("run.conf", PORTS "sas = ( { " SA("1") "key_file = \"s.key\"; } );\n");
	running = changed("sa add { " SA("2") INLINE_KEY " }");
	check_refused(running, "the keys of sa \"s2\" were not read from a key_file");
	conf_free(running);
	running = changed("sa set s1 { replay_window = 256; }");
	write_text("s.key", "403132333435363738393a3b3c3d3e3f40414243\n");
	check_refused(running, "sa \"s1\": cipher_key: its key_file has another key");
	conf_free(running);
}

// A rollback can change settings at the top of the file, and the order of everything.
static void test_revision(void **state)
{
	static const char text[] = PORTS "rules = ( " R("2") " ); history = 5;";
	struct conf_revision revision = {.name = "revision 1",
		.text = text,
		.len = sizeof(text) - 1,
		.conf_path = conf_dir_path("run.conf"),
		.unsaved = true};
	struct conf *file, *running;
	char *errors, *result;

	(void)state;
	write_text("run.conf", PORTS "rules = ( " R("1") " );\n# kept\nhistory = 7; # of it\n");
	file = conf_dir_load_good("run.conf");
	running = conf_revision_read(&revision, file, stderr);
	assert_non_null(running);
	result = rewritten(running, &errors);
	assert_string_equal(errors, "");
	rewritten_apply(result);
	check_file("run.conf", PORTS "rules = ( " R("2") " );\n# kept\nhistory = 5; # of it\n");
	check_same(running);
	conf_free(running);
	conf_free(file);
	free(result);
	free(errors);
}

static struct conf_text one_text(const char *text)
{
	static char path[PATH_MAX];

	assert_non_null(realpath(conf_dir_path("run.conf"), path));
	return (struct conf_text){path, text, strlen(text)};
}

static bool may_write(struct conf_text text)
{
	const struct conf_texts after = {&text, 1};
	FILE *errors = fopen("/dev/null", "w");
	bool may = conf_rewrite_check(conf_dir_path("run.conf"), &after, errors);

	fclose(errors);
	return may;
}

// The command writes settings that a daemon may change, and no other file.
static void test_check(void **state)
{
	(void)state;
	write_text("run.conf", PORTS);
	assert_true(may_write(one_text(PORTS "rules = ( " R("1") " );")));
	assert_false(may_write(one_text(PORTS "rules = ( ")));
	assert_false(may_write(one_text(PORTS "instance = \"other\";")));
	assert_false(may_write((struct conf_text){"/etc/passwd", PORTS, strlen(PORTS)}));
}

static void test_edited(void **state)
{
	struct conf *running;

	(void)state;
	write_text("run.conf", PORTS "rules = ( " R("1") " );\n@include \"s.inc\"\n");
	write_text("s.inc", "\n");
	running = changed("rule set r1 { log = true; }");
	write_text("s.inc", "\n\n");
	check_refused(running, "s.inc:1: the file was edited since it was loaded");
	write_text("s.inc", "\n");
	write_text("run.conf", PORTS "rules = ( " R("1") " );\n\n@include \"s.inc\"\n");
	check_refused(running, "run.conf:1: the file was edited since it was loaded");
	write_text("run.conf", PORTS "rules = ( " R("1") " );\n");
	check_refused(running, "the file was edited since it was loaded");
	conf_free(running);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_settings),
		cmocka_unit_test(test_port_as_local),
		cmocka_unit_test(test_items),
		cmocka_unit_test(test_moves),
		cmocka_unit_test(test_included),
		cmocka_unit_test(test_parted),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_revision),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_edited),
	};

	return cmocka_run_group_tests(tests, conf_dir_make, conf_dir_remove);
}
