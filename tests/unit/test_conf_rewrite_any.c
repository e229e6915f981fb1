// SPDX-License-Identifier: BSD-3-Clause
// Random files with random changes: after conf_rewrite() the file equals the configuration that
// runs, and has every comment that stands on a line of its own.
#include "conf_rewrite.h"

#include <stdarg.h>
#include <stdlib.h>

#include "conf_apply.h"
#include "conf_change.h"
#include "conf_dir.h"
#include "rewritten.h"
#include "test.h"

#define ROUNDS  300
#define CHANGES 8
#define ITEMS   12

static unsigned int seed, n_comments;
static const char *newline;

// 0 to n - 1.
static unsigned int any(unsigned int n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % n;
}

static void blank(FILE *f)
{
	static const char *const blanks[] = {" ", "  ", "\t", " /* in */ "};

	fputs(blanks[any(4)], f);
}

static void comment(FILE *f)
{
	static const char *const forms[] = {
		"  # comment %u.%s", "\t// comment %u.%s", "/* comment %u. */%s"};

	fprintf(f, forms[any(3)], n_comments++, newline);
}

// Comments in an item go with it.
static void line(FILE *f, bool in_item)
{
	fputs(newline, f);
	for (unsigned int i = any(6); i > 3 && !in_item; i--)
		comment(f);
	if (in_item && any(6) == 0)
		fprintf(f, " # in it%s", newline);
	if (any(4) == 0)
		fputs(newline, f);
	fputs(any(2) ? "  " : "\t", f);
}

// --- files ---

static void setting(FILE *f, bool lines, bool last, const char *form, ...)
	__attribute__((format(printf, 4, 5)));

static void setting(FILE *f, bool lines, bool last, const char *form, ...)
{
	va_list ap;

	if (lines)
		line(f, true);
	else
		blank(f);
	va_start(ap, form);
	vfprintf(f, form, ap);
	va_end(ap);
	fputs(last && any(2) ? "" : any(4) ? ";" : ",", f);
	if (lines && any(3) == 0)
		fputs(" # of it", f);
}

static void rule(FILE *f, unsigned int i, bool lines)
{
	setting(f, lines, false, "name = \"r%u\"", i);
	setting(f, lines, false, "proto = %u", i);
	if (any(2))
		setting(f, lines, false, "log = %s", any(2) ? "true" : "false");
	setting(f, lines, true, "action%s\"drop\"", any(2) ? " = " : ": ");
}

static void route(FILE *f, unsigned int i, bool lines)
{
	setting(f, lines, false, "to = \"10.%u.0.0/16\"", 100 + i);
	setting(f, lines, true, "via = \"192.0.2.%u\"", 2 + any(9));
}

static void sa(FILE *f, unsigned int i, bool lines)
{
	setting(f, lines, false, "name = \"s%u\"", i);
	setting(f, lines, false, "direction = \"in\"");
	setting(f, lines, false, "spi = 0x10%02x", i);
	setting(f, lines, false, "local = \"192.0.2.1\"");
	setting(f, lines, false, "remote = \"192.0.2.2\"");
	setting(f, lines, false, "cipher = \"aes-128-gcm\"");
	if (any(2))
		setting(f, lines, false, "lifetime = { soft_seconds = %u%s }", 1 + any(9),
			any(2) ? ";" : "");
	if (any(2))
		setting(f, lines, true, "key_file = \"%u.key\"", i);
	else
		setting(f, lines, true, "cipher_key = \"%040u\"", i);
}

static void list(FILE *f, const char *name, void (*item)(FILE *f, unsigned int i, bool lines))
{
	unsigned int n = any(ITEMS / 2);
	bool comma_first = any(4) == 0;

	if (any(8) == 0)
		return;
	fprintf(f, "%s = (", name);
	for (unsigned int i = 0; i < n; i++) {
		bool lines = any(3) == 0;

		if (any(3) > 0)
			line(f, false);
		fputs(comma_first && i > 0 ? ", {" : "{", f);
		item(f, i, lines);
		if (lines)
			line(f, true);
		fputs(" }", f);
		fputs(comma_first || i + 1 == n ? "" : any(5) ? "," : " ,", f);
		if (any(4) == 0)
			fprintf(f, " # of it%s", newline);
	}
	if (any(2))
		line(f, false);
	fprintf(f, " )%s%s", any(3) ? ";" : "", newline);
}

static void file_write(void)
{
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	n_comments = 0;
	newline = any(3) ? "\n" : "\r\n";
	comment(f);
	fputs("ports = ( { name = \"lan\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/24\" "
	      "]; },"
	      "{ name = \"wan\"; device = \"net_null1\"; addresses = [ \"192.0.2.1/24\" ]; } );\n",
		f);
	list(f, "rules", rule);
	list(f, "sas", sa);
	list(f, "routes", route);
	fclose(f);
	conf_dir_write("run.conf", text, any(2) ? size : size - 1);
	free(text);
}

static void keys_write(void)
{
	char name[16], key[64];

	for (unsigned int i = 0; i < ITEMS; i++) {
		snprintf(name, sizeof(name), "%u.key", i);
		snprintf(key, sizeof(key), "cipher_key = \"%040u\";\n", 100 + i);
		conf_dir_write(name, key, strlen(key));
	}
}

// --- changes ---

// I: a number, J: another one, PLACE: where it is added.
static const char *const requests[] = {
	"rule del rI",
	"rule set rI { log = true; action = \"accept\"; }",
	"rule set rI { log = false; }",
	"rule add PLACE{ name = \"rI\"; proto = I; action = \"drop\"; }",
	"rule add after rJ { name = \"rI\"; proto = I; action = \"accept\"; }",
	"rule del rI; rule add PLACE{ name = \"rI\"; proto = I; action = \"drop\"; }",
	"rule set rI { name = \"qI\"; }",
	"sa del sI",
	"sa set sI { lifetime = { hard_seconds = J0; }; replay_window = 256; }",
	"sa set sI { key_file = \"I.key\"; }",
	"sa add { name = \"sI\"; direction = \"in\"; spi = \"0x20I\"; local = \"192.0.2.1\"; "
	"remote = \"192.0.2.2\"; cipher = \"aes-128-gcm\"; key_file = \"I.key\"; }",
	"route del 10.10I.0.0/16",
	"route set 10.10I.0.0/16 { via = \"192.0.2.77\"; }",
	"route add { to = \"10.10I.0.0/16\"; via = \"192.0.2.9\"; }",
};

static void request_write(char *text, size_t size)
{
	static const char *const places[] = {"", "first ", "last "};
	FILE *f = fmemopen(text, size, "w");
	unsigned int i = any(ITEMS), j = any(ITEMS), place = any(3);

	for (const char *p = requests[any(RTE_DIM(requests))]; *p != '\0'; p++)
		if (strncmp(p, "PLACE", 5) == 0) {
			fputs(places[place], f);
			p += 4;
		} else if (*p == 'I' || *p == 'J') {
			fprintf(f, "%u", *p == 'I' ? i : j);
		} else {
			putc(*p, f);
		}
	fclose(f);
}

// Requests that are refused change nothing.
static struct conf *changed(struct conf *c, FILE *refused)
{
	char text[512];
	struct conf *next;

	for (unsigned int i = any(CHANGES) + 1; i > 0; i--) {
		request_write(text, sizeof(text));
		next = conf_change(c, "argument", text, strlen(text), refused);
		if (next != NULL) {
			conf_free(c);
			c = next;
		}
	}
	return c;
}

// --- proof ---

static void check_comments(const char *text, unsigned int start)
{
	char wanted[32];
	const char *at;

	for (unsigned int i = 0; i < n_comments; i++) {
		snprintf(wanted, sizeof(wanted), " comment %u.", i);
		at = strstr(text, wanted);
		if (at == NULL || strstr(at + 1, wanted) != NULL)
			fail_msg("seed %u: comment %u in %s", start, i, text);
	}
}

static void check_round(unsigned int start, FILE *refused)
{
	struct conf *running, *again;
	struct conf_changes *differences;
	char *result, *text;
	size_t size;
	FILE *out = open_memstream(&result, &size);

	seed = start;
	file_write();
	running = changed(conf_dir_load_good("run.conf"), refused);
	if (!conf_rewrite(running, conf_dir_path("run.conf"), out, stderr))
		fail_msg("seed %u: refused", start);
	fclose(out);
	rewritten_apply(result);
	again = conf_dir_load_good("run.conf");
	differences = conf_diff(running, again);
	if (differences->n > 0)
		fail_msg("seed %u: %u differences", start, differences->n);
	text = conf_dir_read(conf_dir_path("run.conf"));
	check_comments(text, start);
	conf_changes_free(differences);
	conf_free(again);
	conf_free(running);
	free(result);
	free(text);
}

static void test_any(void **state)
{
	FILE *refused = fopen("/dev/null", "w");

	(void)state;
	keys_write();
	for (unsigned int i = 1; i <= ROUNDS; i++)
		check_round(i, refused);
	fclose(refused);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any),
	};

	return cmocka_run_group_tests(tests, conf_dir_make, conf_dir_remove);
}
