// SPDX-License-Identifier: BSD-3-Clause
// The values of the group udp of SAs, and that the group alone is a difference.
#include "conf_apply.h"
#include "conf_dir.h"
#include "test.h"

static void test_udp(void **state)
{
	struct conf *c = conf_dir_load_good("full.conf");
	const struct conf_sa *sa = c->sas;

	(void)state;
	assert_false(sa[0].opt.in_udp);
	assert_true(sa[2].opt.in_udp);
	assert_int_equal(sa[2].opt.udp_local_port, 1);
	assert_int_equal(sa[2].opt.udp_remote_port, 65535);
	assert_int_equal(sa[2].live.keepalive_s, 0);
	assert_true(sa[2].live.follow);
	assert_int_equal(sa[3].opt.udp_local_port, 1);
	assert_true(ip_addr_is_none(&sa[4].opt.remote));
	assert_int_equal(sa[4].live.keepalive_s, 20);
	assert_false(sa[4].live.follow);
	conf_free(c);
}

static void print(FILE *out, const struct conf_change *d)
{
	fprintf(out, "%s %s: %s -> %s\n", d->name, d->setting, d->from != NULL ? d->from : "-",
		d->to != NULL ? d->to : "-");
}

static void check_diff(const struct conf *from, const struct conf *to, const char *expected)
{
	char text[512] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");
	struct conf_changes *list = conf_diff(from, to);

	for (unsigned int i = 0; i < list->n; i++)
		print(out, &list->change[i]);
	conf_changes_free(list);
	fclose(out);
	assert_string_equal(text, expected);
}

static void test_difference(void **state)
{
	static const char none[] = "sa set to-b { udp = { }; }\nsa set from-b { udp = { }; }";
	static const char port[] = "sa set to-b { udp = { local_port = 9; }; }\n"
				   "sa set from-b { udp = { local_port = 9; }; }";
	static const char lifetime[] = "sa set to-b { lifetime = { }; }"; // the same as none
	static const char tfc[] = "sa set to-b { tfc = { }; ecn = true; df = \"copy\"; }";
	struct conf *running = conf_dir_load_good("gateway-a.conf");
	struct conf *with = conf_change(running, "", none, strlen(none), stderr);
	struct conf *with_port = conf_change(running, "", port, strlen(port), stderr);
	struct conf *with_lifetime = conf_change(running, "", lifetime, strlen(lifetime), stderr);
	struct conf *with_tfc = conf_change(running, "", tfc, strlen(tfc), stderr);

	(void)state;
	check_diff(running, with, "to-b udp: - -> { }\nfrom-b udp: - -> { }\n");
	check_diff(with, running, "to-b udp: { } -> -\nfrom-b udp: { } -> -\n");
	check_diff(with, with_port,
		"to-b udp.local_port: 4500 -> 9\nfrom-b udp.local_port: 4500 -> 9\n");
	check_diff(running, with_port,
		"to-b udp: - -> { }\nto-b udp.local_port: - -> 9\n"
		"from-b udp: - -> { }\nfrom-b udp.local_port: - -> 9\n");
	check_diff(running, with_lifetime, "");
	check_diff(running, with_tfc,
		"to-b dscp: \"copy\" -> \"cs0\"\nto-b tfc: - -> { }\nto-b tfc.pad: - -> \"mtu\"\n");
	conf_free(running);
	conf_free(with);
	conf_free(with_port);
	conf_free(with_lifetime);
	conf_free(with_tfc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_udp),
		cmocka_unit_test(test_difference),
	};

	return cmocka_run_group_tests(tests, conf_dir_make, conf_dir_remove);
}
