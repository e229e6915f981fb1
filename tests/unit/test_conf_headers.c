// SPDX-License-Identifier: BSD-3-Clause
// What SAs can be told to write into headers.
#include "conf_dir.h"
#include "test.h"

// RFC 2474, RFC 2597, RFC 3246, RFC 5865, RFC 8622.
static void test_dscp(void **state)
{
	static const struct {
		const char *text;
		uint8_t number;
	} rows[] = {
		{"0", 0},
		{"63", 63},
		{"\"0x2e\"", 46},
		{"\"cs0\"", 0},
		{"\"cs1\"", 8},
		{"\"cs2\"", 16},
		{"\"cs3\"", 24},
		{"\"cs4\"", 32},
		{"\"cs5\"", 40},
		{"\"cs6\"", 48},
		{"\"cs7\"", 56},
		{"\"af11\"", 012},
		{"\"af12\"", 014},
		{"\"af13\"", 016},
		{"\"af21\"", 022},
		{"\"af22\"", 024},
		{"\"af23\"", 026},
		{"\"af31\"", 032},
		{"\"af32\"", 034},
		{"\"af33\"", 036},
		{"\"af41\"", 042},
		{"\"af42\"", 044},
		{"\"af43\"", 046},
		{"\"ef\"", 056},
		{"\"voice-admit\"", 054},
		{"\"le\"", 1},
		{"\"copy\"", CONF_DSCP_COPY},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char text[512];
		int len = snprintf(text, sizeof(text),
			"@include \"ports.inc\"\n"
			"sas = ( { name = \"a\"; direction = \"out\"; spi = \"0x1001\";"
			" local = \"192.0.2.1\"; remote = \"192.0.2.2\"; cipher = \"null\";"
			" auth = \"hmac-sha1-96\"; dscp = %s;"
			" auth_key = \"00112233445566778899aabbccddeeff00112233\"; } );\n",
			rows[i].text);
		struct conf *c;

		conf_dir_write("dscp.conf", text, (size_t)len);
		c = conf_dir_load_good("dscp.conf");
		assert_int_equal(c->sas[0].dscp, rows[i].number);
		conf_free(c);
	}
	conf_dir_unlink("dscp.conf");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dscp),
	};

	return cmocka_run_group_tests(tests, conf_dir_make, conf_dir_remove);
}
