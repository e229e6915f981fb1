// SPDX-License-Identifier: BSD-3-Clause
// Refused configurations. CONF_DIR has files, each with mistakes of one kind and, in a file with
// the same name and the ending .err, all messages about it. Also proves that keys stay secret.
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf_dir.h"
#include "crypto.h"
#include "test.h"

#define RUN_MIN 20 // that many hexadecimal digits in a row are a key

// --- mistakes ---

static void just_count(const char *name)
{
	(void)name;
}

static void test_mistakes(void **state)
{
	unsigned int n = conf_dir_each(CONF_DIR, ".err", conf_dir_check_mistakes);

	(void)state;
	assert_in_range(n, 50, 1000);
	// Only minimal.conf, full.conf and many.conf have none.
	assert_int_equal(conf_dir_each(CONF_DIR, ".conf", just_count), n + 3);
}

static unsigned int n_keys_seen;
static char *all_errors;

static void add_errors(const char *name)
{
	size_t before = all_errors != NULL ? strlen(all_errors) : 0;
	char *errors;

	conf_free(conf_dir_load(&errors, name));
	all_errors = realloc(all_errors, before + strlen(errors) + 1);
	assert_non_null(all_errors);
	strcpy(all_errors + before, errors);
	free(errors);
}

// No message may have eight digits of any possible key of a file.
static void check_key_digits(const char *name)
{
	char *text = conf_dir_read(conf_dir_path(name));
	char part[9];

	for (char *p = text; *p != '\0';) {
		size_t run = strspn(p, "0123456789abcdefABCDEF");

		if (run >= RUN_MIN)
			n_keys_seen++;
		for (size_t i = 0; run >= RUN_MIN && i + 8 <= run; i++) {
			snprintf(part, sizeof(part), "%.8s", p + i);
			if (strstr(all_errors, part) != NULL)
				fail_msg("%s: a message has the digits %s of a key", name, part);
		}
		p += run > 0 ? run : 1;
	}
	free(text);
}

static void test_keys_are_not_shown(void **state)
{
	(void)state;
	assert_in_range(conf_dir_each(conf_dir(), ".conf", add_errors), 50, 1000);
	conf_dir_each(conf_dir(), "", check_key_digits);
	assert_in_range(n_keys_seen, 50, 100000);
	free(all_errors);
}

static void test_nul_octet(void **state)
{
	static const char text[] = "instance = \"a\";\n\0instance = 1;\n";

	(void)state;
	conf_dir_write("nul.conf", text, sizeof(text) - 1);
	conf_dir_load_bad("nul.conf", "nul.conf:2: NUL octet, must be text\n");
	conf_dir_unlink("nul.conf");
}

static void test_empty_file(void **state)
{
	(void)state;
	conf_dir_write("nothing.conf", "", 0);
	conf_dir_load_bad("nothing.conf",
		"nothing.conf:1: ports is missing, must be a list ( ) of groups { }\n");
	conf_dir_unlink("nothing.conf");
}

// libconfig requires a newline after a comment. It can be added to the main file only.
static void test_no_newline(void **state)
{
	static const char with_comment[] = "@include \"ports.inc\"\n# end";
	static const char inner[] = "idle = \"poll\"; # end";
	static const char outer[] = "@include \"inner.inc\"\n";

	(void)state;
	conf_dir_write("main.conf", with_comment, strlen(with_comment));
	conf_free(conf_dir_load_good("main.conf"));
	conf_dir_write("inner.inc", inner, strlen(inner));
	conf_dir_write("main.conf", outer, strlen(outer));
	conf_dir_load_bad(
		"main.conf", "inner.inc:1: comment ends with the file, must end with a newline\n");
	conf_dir_unlink("inner.inc");
	conf_dir_unlink("main.conf");
}

// A slash in front changes nothing: there is one folder.
static void test_include_slash(void **state)
{
	static const char text[] = "@include \"/ports.inc\"\n";

	(void)state;
	conf_dir_write("main.conf", text, strlen(text));

	struct conf *c = conf_dir_load_good("main.conf");

	assert_true(ends_with(c->ports[0].where.file, "//ports.inc"));
	conf_free(c);
	conf_dir_unlink("main.conf");
}

static void test_idle(void **state)
{
	static const char *const words[] = {[CONF_IDLE_POLL] = "poll",
		[CONF_IDLE_PAUSE] = "pause",
		[CONF_IDLE_SLEEP] = "sleep",
		[CONF_IDLE_INTERRUPT] = "interrupt"};
	static const char wrong[] = "idle = \"interrupts\";\n@include \"ports.inc\"\n";
	char text[256];

	(void)state;
	for (enum conf_idle i = CONF_IDLE_POLL; i <= CONF_IDLE_INTERRUPT; i++) {
		snprintf(text, sizeof(text), "idle = \"%s\";\n@include \"ports.inc\"\n", words[i]);
		conf_dir_write("main.conf", text, strlen(text));

		struct conf *c = conf_dir_load_good("main.conf");

		assert_int_equal(c->idle, i);
		conf_free(c);
	}
	conf_dir_write("main.conf", wrong, strlen(wrong));
	conf_dir_load_bad("main.conf",
		"main.conf:1: idle: \"interrupts\" is not allowed, did you mean \"interrupt\"?\n");
	conf_dir_unlink("main.conf");
}

// An engine that this program was built without is refused.
static void test_engines(void **state)
{
	char text[256], error[256];

	(void)state;
	for (const char *const *e = crypto_engine_names; *e != NULL; e++) {
		snprintf(text, sizeof(text), "engine = \"%s\";\n@include \"ports.inc\"\n", *e);
		snprintf(error, sizeof(error),
			"main.conf:1: engine: engine \"%s\" is not built in, for lack of its "
			"library: use \"auto\" or rebuild\n",
			*e);
		conf_dir_write("main.conf", text, strlen(text));
		if (crypto_engine_built_in(*e))
			conf_free(conf_dir_load_good("main.conf"));
		else
			conf_dir_load_bad("main.conf", error);
		conf_dir_unlink("main.conf");
	}
}

static void test_large_file(void **state)
{
	(void)state;
	conf_dir_write("large.conf", "", 0);
	assert_int_equal(truncate(conf_dir_path("large.conf"), (64 << 20) + 1), 0);
	conf_dir_load_bad(
		"large.conf", "large.conf:1: large.conf is too large, must be at most 64 MB\n");
	conf_dir_unlink("large.conf");
}

// --- who may read the files ---

static void check_mode(const char *conf, const char *file, mode_t mode, const char *expected)
{
	char *errors;
	struct conf *c;

	chmod(conf_dir_path(file), mode);
	c = conf_dir_load(&errors, conf);
	chmod(conf_dir_path(file), 0600);
	assert_string_equal(errors, expected);
	assert_int_equal(c == NULL, expected[0] != '\0');
	conf_free(c);
	free(errors);
}

static void test_modes(void **state)
{
	(void)state;
	check_mode("minimal.conf", "minimal.conf", 0400, "");
	check_mode("minimal.conf", "minimal.conf", 0640, "");
	check_mode("minimal.conf", "minimal.conf", 0644,
		"minimal.conf:1: minimal.conf has mode 0644, others must not read it nor the "
		"group write it: chmod 640 minimal.conf\n");
	check_mode("minimal.conf", "minimal.conf", 0660,
		"minimal.conf:1: minimal.conf has mode 0660, others must not read it nor the "
		"group write it: chmod 640 minimal.conf\n");
	check_mode("minimal.conf", "minimal.conf", 0602,
		"minimal.conf:1: minimal.conf has mode 0602, others must not read it nor the "
		"group write it: chmod 640 minimal.conf\n");
	check_mode("full.conf", "to-b.key", 0604,
		"full.conf:20: sa \"to-b\": key_file: to-b.key has mode 0604, others must not "
		"read it nor the group write it: chmod 640 to-b.key\n");
	check_mode("full.conf", "full_ports.inc", 0601,
		"full.conf:2: full_ports.inc has mode 0601, others must not read it nor the "
		"group write it: chmod 640 full_ports.inc\n");
}

static void test_owner(void **state)
{
	char expected[256];

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(chown(conf_dir_path("minimal.conf"), 1234, 0), 0);
	snprintf(expected, sizeof(expected),
		"minimal.conf:1: minimal.conf belongs to user 1234, must belong to root or to the "
		"reading user: chown 0 minimal.conf\n");
	conf_dir_load_bad("minimal.conf", expected);
	assert_int_equal(chown(conf_dir_path("minimal.conf"), 0, 0), 0);
}

static void test_no_regular_file(void **state)
{
	(void)state;
	conf_dir_load_bad("nowhere.conf",
		"nowhere.conf:1: nowhere.conf cannot be opened: No such file or directory\n");
	assert_int_equal(mkfifo(conf_dir_path("pipe.conf"), 0600), 0);
	conf_dir_load_bad("pipe.conf", "pipe.conf:1: pipe.conf is not a regular file\n");
	conf_dir_unlink("pipe.conf");
}

// --- keys do not stay in memory ---

// The address sanitizer has a heap of its own.
#ifndef __SANITIZE_ADDRESS__
static void test_keys_are_wiped(void **state)
{
	struct conf *c = conf_dir_load_good("full.conf");
	uint8_t key[20];

	(void)state;
	assert_int_equal(mallopt(M_PERTURB, 0), 1); // free() does not clear memory
	memcpy(key, c->sas[3].auth_key, sizeof(key));
	assert_true(in_heap(key, sizeof(key)));
	conf_free(c);
	assert_false(in_heap(key, sizeof(key)));
}
#endif

static void test_free_nothing(void **state)
{
	(void)state;
	conf_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_keys_are_not_shown),
		cmocka_unit_test(test_nul_octet),
		cmocka_unit_test(test_empty_file),
		cmocka_unit_test(test_no_newline),
		cmocka_unit_test(test_include_slash),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_engines),
		cmocka_unit_test(test_large_file),
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_owner),
		cmocka_unit_test(test_no_regular_file),
#ifndef __SANITIZE_ADDRESS__
		cmocka_unit_test(test_keys_are_wiped),
#endif
		cmocka_unit_test(test_free_nothing),
	};

	return cmocka_run_group_tests(tests, conf_dir_make, conf_dir_remove);
}
