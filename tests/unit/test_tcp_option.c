// SPDX-License-Identifier: BSD-3-Clause
// TCP options: which are found, and the segment after its maximum segment size is lowered, against
// a model that visits every octet and sums up the whole segment.
#include "tcp_option.h"
#include "test.h"

#define HEADER_LEN 20
#define TEXT_LEN   6 // octets after the header, which must not be read as options

static uint16_t be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

// RFC 1071, literally.
static uint16_t sum(const uint8_t *p, size_t len)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i += 2)
		sum += (uint32_t)p[i] << 8 | (i + 1 < len ? p[i + 1] : 0u);
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

// A segment in its own memory, so that the address sanitizer detects reads beyond it. Options are
// len octets, a multiple of 4; the checksum is right, or wrong by a number.
static uint8_t *segment(const uint8_t *options, unsigned int len, uint16_t wrong)
{
	size_t all = HEADER_LEN + len + TEXT_LEN;
	uint8_t *s = calloc(1, all);
	uint16_t cksum;

	assert_non_null(s);
	s[0] = 0x12;
	s[3] = 0x99;
	s[12] = (uint8_t)((HEADER_LEN + len) / 4 << 4);
	s[13] = 2;
	memcpy(s + HEADER_LEN, options, len);
	memcpy(s + HEADER_LEN + len, (const uint8_t[TEXT_LEN]){2, 4, 0xff, 0xff, 2, 4}, TEXT_LEN);
	cksum = (uint16_t)(~sum(s, all) + wrong);
	s[16] = (uint8_t)(cksum >> 8);
	s[17] = (uint8_t)cksum;
	return s;
}

// The expected segment. Returns how many maximum segment sizes were lowered.
static unsigned int model(uint8_t *options, unsigned int len, uint16_t mss)
{
	unsigned int at = 0, lowered = 0;

	while (at < len && options[at] != 0) {
		if (options[at] == 1) {
			at++;
			continue;
		}
		if (at + 1 >= len || options[at + 1] < 2 || at + options[at + 1] > len)
			break;
		if (options[at] == 2 && options[at + 1] == 4 && be16(options + at + 2) > mss) {
			options[at + 2] = (uint8_t)(mss >> 8);
			options[at + 3] = (uint8_t)mss;
			lowered++;
		}
		at += options[at + 1];
	}
	return lowered;
}

static unsigned int check(const uint8_t *options, unsigned int len, uint16_t mss, uint16_t wrong)
{
	uint8_t *s = segment(options, len, wrong), expected[HEADER_LEN + 40 + TEXT_LEN];
	size_t all = HEADER_LEN + len + TEXT_LEN;
	unsigned int lowered;

	memcpy(expected, s, all);
	lowered = model(expected + HEADER_LEN, len, mss);
	tcp_mss_lower((struct rte_tcp_hdr *)s, mss);
	if (wrong == 0) // all of it, checksum included
		assert_int_equal(sum(s, all), 0xffff);
	else
		assert_int_not_equal(sum(s, all), 0xffff);
	if (lowered == 0)
		assert_int_equal(be16(s + 16), be16(expected + 16));
	memcpy(expected + 16, s + 16, 2);
	assert_memory_equal(s, expected, all);
	free(s);
	return lowered;
}

static void test_layouts(void **state)
{
	static const struct {
		const char *name;
		unsigned int lowered, len;
		uint8_t options[40];
	} rows[] = {
		{"no options", 0, 0, {0}},
		{"alone", 1, 4, {2, 4, 0x23, 0x28}},
		{"as Linux sends it", 1, 20,
			{2, 4, 0x05, 0xb4, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 3, 3, 7}},
		{"at an odd octet", 1, 8, {1, 2, 4, 0x05, 0xb4, 1, 1, 0}},
		{"at the end", 1, 8, {1, 1, 1, 1, 2, 4, 0x05, 0xb4}},
		{"of the longest header", 1, 40,
			{8, 10, 1, 2, 3, 4, 5, 6, 7, 8, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8, 8, 10, 1, 2,
				3, 4, 5, 6, 7, 8, 1, 3, 3, 7, 1, 1, 2, 4, 0xff, 0xff}},
		{"twice", 2, 12, {2, 4, 0x05, 0xb4, 1, 2, 4, 0x06, 0, 1, 1, 1}},
		{"twice, one is small", 1, 8, {2, 4, 0x01, 0, 2, 4, 0x06, 0}},
		{"as large as allowed", 0, 4, {2, 4, 0x03, 0xe8}},
		{"one more", 1, 4, {2, 4, 0x03, 0xe9}},
		{"smaller", 0, 4, {2, 4, 0x02, 0x18}},
		{"none", 0, 4, {3, 3, 7, 1}},
		{"behind the end of options", 0, 8, {0, 2, 4, 0x05, 0xb4, 0, 0, 0}},
		{"inside of another", 0, 8, {8, 8, 2, 4, 0x05, 0xb4, 1, 1}},
		{"too short", 0, 4, {2, 3, 0x05, 1}},
		{"too long", 0, 8, {2, 5, 0x05, 0xb4, 1, 1, 1, 1}},
		{"truncated", 0, 4, {1, 2, 4, 0x05}},
		{"its length truncated", 0, 4, {1, 1, 1, 2}},
		{"length 0", 0, 8, {2, 0, 0x05, 0xb4, 2, 4, 0x05, 0xb4}},
		{"length 1", 0, 8, {8, 1, 2, 4, 0x05, 0xb4, 1, 1}},
		{"length beyond the header", 0, 8, {8, 200, 2, 4, 0x05, 0xb4, 1, 1}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		print_message("%s\n", rows[i].name);
		assert_int_equal(check(rows[i].options, rows[i].len, 1000, 0), rows[i].lowered);
	}
}

// Every size lowered to several others, in words of the checksum and across them.
static void test_checksum(void **state)
{
	static const uint16_t to[] = {0, 1, 88, 255, 256, 536, 1220, 1460, 8960, 0xfffe, 0xffff};

	(void)state;
	for (unsigned int mss = 0; mss <= 0xffff; mss++)
		for (size_t i = 0; i < COUNT_OF(to); i++) {
			uint8_t hi = (uint8_t)(mss >> 8), lo = (uint8_t)mss;

			check((const uint8_t[]){2, 4, hi, lo}, 4, to[i], 0);
			check((const uint8_t[]){1, 2, 4, hi, lo, 1, 1, 1}, 8, to[i], 0);
			check((const uint8_t[]){2, 4, hi, lo}, 4, to[i], 0x1234);
		}
}

// Random options, of octets that have a meaning.
static void test_random(void **state)
{
	uint64_t seed = 1;
	unsigned long lowered = 0, n = rounds(200000);

	(void)state;
	for (unsigned long i = 0; i < n; i++) {
		uint8_t options[40];
		unsigned int len = 4 * random_below(&seed, 11);

		for (unsigned int k = 0; k < len; k++)
			options[k] =
				(uint8_t)(random_below(&seed, 3) == 0 ? random_below(&seed, 256)
								      : random_below(&seed, 5));
		lowered += check(options, len, (uint16_t)random_below(&seed, 1500), 0);
	}
	assert_in_range(lowered, n / 100, n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_checksum),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
