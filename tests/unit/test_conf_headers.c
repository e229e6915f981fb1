// SPDX-License-Identifier: BSD-3-Clause
// The header options of SAs.
#include "conf_dir.h"
#include "test.h"

// A configuration with one outbound SA that also has these settings.
static struct conf *load(const char *settings)
{
	static const char form[] =
		"@include \"ports.inc\"\n"
		"sas = ( { name = \"a\"; direction = \"out\"; spi = \"0x1001\";"
		" local = \"192.0.2.1\"; remote = \"192.0.2.2\"; cipher = \"aes-128-gcm\";"
		" cipher_key = \"00112233445566778899aabbccddeeff00112233\"; %s } );\n";
	char text[512];
	int len = snprintf(text, sizeof(text), form, settings);
	struct conf *c;

	conf_dir_write("headers.conf", text, (size_t)len);
	c = conf_dir_load_good("headers.conf");
	conf_dir_unlink("headers.conf");
	return c;
}

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
		{"\"copy\"", SA_DSCP_COPY},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char setting[64];
		struct conf *c;

		snprintf(setting, sizeof(setting), "dscp = %s;", rows[i].text);
		c = load(setting);
		assert_int_equal(c->sas[0].opt.dscp, rows[i].number);
		conf_free(c);
	}
}

static void test_tfc(void **state)
{
	static const struct {
		const char *text;
		uint16_t pad;
		uint32_t dummies;
		uint8_t dscp;
		bool ecn;
	} rows[] = {
		{"", 0, 0, SA_DSCP_COPY, true},
		{"tfc = { };", SA_TFC_MTU, 0, 0, false},
		{"tfc = { pad = 64; };", 64, 0, 0, false},
		{"tfc = { pad = 9600; dummies = 1; };", 9600, 1, 0, false},
		{"tfc = { pad = \"mtu\"; dummies = 50000; }; dscp = \"copy\"; ecn = true;",
			SA_TFC_MTU, 50000, SA_DSCP_COPY, true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct conf *c = load(rows[i].text);

		assert_int_equal(c->sas[0].opt.tfc_pad, rows[i].pad);
		assert_int_equal(c->sas[0].opt.tfc_dummies, rows[i].dummies);
		assert_int_equal(c->sas[0].opt.dscp, rows[i].dscp);
		assert_int_equal(c->sas[0].opt.ecn, rows[i].ecn);
		assert_int_equal(c->sas[0].opt.df, rows[i].pad != 0 ? SA_DF_SET : SA_DF_COPY);
		conf_free(c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dscp),
		cmocka_unit_test(test_tfc),
	};

	return cmocka_run_group_tests(tests, conf_dir_make, conf_dir_remove);
}
