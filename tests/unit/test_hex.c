// SPDX-License-Identifier: BSD-3-Clause
// Hexadecimal text.
#include <errno.h>

#include "hex.h"
#include "test.h"

static void test_rows(void **state)
{
	static const struct {
		const char *text;
		int n;
		uint8_t octets[4];
	} rows[] = {
		{"", 0, {0}},
		{"0x", 0, {0}},
		{"00", 1, {0}},
		{"0xdeadBEEF", 4, {0xde, 0xad, 0xbe, 0xef}},
		{"0Xde", 1, {0xde}},
		{"de ad", 2, {0xde, 0xad}},
		{" de:ad_be\tef\r\n", 4, {0xde, 0xad, 0xbe, 0xef}},
		{"de:ad:be:ef:01:02", 6, {0xde, 0xad, 0xbe, 0xef}},
		{"d", -EINVAL, {0}},
		{"dea", -EINVAL, {0}},
		{"de a d", -EINVAL, {0}},
		{"dg", -EINVAL, {0}},
		{"gd", -EINVAL, {0}},
		{"0x0xde", -EINVAL, {0}},
		{"de-ad", -EINVAL, {0}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint8_t out[5] = {0, 0, 0, 0, 0xa5};
		int n = hex_parse(out, 4, rows[i].text);

		if (n != rows[i].n)
			fail_msg("\"%s\": %d", rows[i].text, n);
		if (n >= 0)
			assert_memory_equal(out, rows[i].octets, 4);
		assert_int_equal(out[4], 0xa5); // at most size octets
	}
}

static void test_all_octets(void **state)
{
	uint8_t out[256];
	char text[2 * 256 + 1];

	(void)state;
	for (unsigned int i = 0; i < 256; i++)
		snprintf(text + 2 * i, 3, i % 2 == 0 ? "%02x" : "%02X", i);
	assert_int_equal(hex_parse(out, sizeof(out), text), 256);
	for (unsigned int i = 0; i < 256; i++)
		assert_int_equal(out[i], i);
}

static void test_format(void **state)
{
	uint8_t octets[256];
	char text[2 * 256 + 1], wanted[2 * 256 + 1];

	(void)state;
	for (unsigned int i = 0; i < 256; i++) {
		octets[i] = (uint8_t)i;
		snprintf(wanted + 2 * i, 3, "%02x", i);
	}
	hex_format(text, octets, sizeof(octets));
	assert_string_equal(text, wanted);
	hex_format(text, octets, 0);
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_all_octets),
		cmocka_unit_test(test_format),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
