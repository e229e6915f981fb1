// SPDX-License-Identifier: BSD-3-Clause
// The values of the group udp of SAs.
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_udp),
	};

	return cmocka_run_group_tests(tests, conf_dir_make, conf_dir_remove);
}
