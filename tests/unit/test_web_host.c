// SPDX-License-Identifier: BSD-3-Clause
// Hosts for which the metrics address answers.
#include "web_host.h"

#include <rte_common.h>

#include "test.h"

#define MACHINE "gw.example.net"

static void test_own(void **state)
{
	static const char *const own[] = {NULL, "127.0.0.1", "127.0.0.1:9469", "[::1]", "[::1]:80",
		"192.0.2.1", "localhost", "LOCALHOST:9469", MACHINE, "GW.example.net:80"};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(own); i++)
		if (!web_host_is_own(own[i], MACHINE))
			fail_msg("%s", own[i]);
}

static void test_foreign(void **state)
{
	static const char *const foreign[] = {"", ":80", "example.net", "example.net:9469",
		"localhost.example.net", "127.0.0.1.example.net", "127.0.0.1:80:80", "[::1", "::1]",
		"[]", "[example.net]", "[::1]x", "[::1]:80]",
		"[0000:0000:0000:0000:0000:ffff:255.255.255.255x]", "xlocalhost", "localhos", "1",
		"0x7f000001"};
	char longest[400];

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(foreign); i++)
		if (web_host_is_own(foreign[i], MACHINE))
			fail_msg("%s", foreign[i]);
	assert_false(web_host_is_own(":80", "")); // a machine without a name
	memset(longest, '1', sizeof(longest));
	longest[0] = '[';
	longest[sizeof(longest) - 2] = ']';
	longest[sizeof(longest) - 1] = '\0';
	assert_false(web_host_is_own(longest, MACHINE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_foreign),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
