// SPDX-License-Identifier: BSD-3-Clause
// Ranges of addresses as prefixes. The oracle counts every address of one octet.
#include <string.h>

#include "range.h"
#include "test.h"

static struct prefix prefix[RANGE_PREFIXES_MAX];

// Two halves of one larger prefix.
static bool could_be_one(const struct prefix *a, const struct prefix *b)
{
	return a->bits == b->bits && (a->address[0] ^ b->address[0]) == 256 >> a->bits;
}

static void check(uint8_t from, uint8_t to)
{
	unsigned int n = range_split(&from, &to, 1, prefix), next = from;

	for (unsigned int i = 0; i < n; i++) {
		unsigned int size = 256u >> prefix[i].bits;

		assert_int_equal(prefix[i].address[0], next);
		assert_int_equal(next % size, 0);
		next += size;
		if (i > 0)
			assert_false(could_be_one(&prefix[i - 1], &prefix[i]));
	}
	assert_int_equal(next, to + 1u);
}

static void test_all(void **state)
{
	(void)state;
	for (unsigned int from = 0; from < 256; from++)
		for (unsigned int to = from; to < 256; to++)
			check((uint8_t)from, (uint8_t)to);
}

static void test_none(void **state)
{
	uint8_t from = 2, to = 1;

	(void)state;
	assert_int_equal(range_split(&from, &to, 1, prefix), 0);
}

// The longest list of IPv4, and one of IPv6 that does not fit.
static void test_long(void **state)
{
	uint8_t from[16] = {0}, to[16];

	(void)state;
	memset(to, 0xff, sizeof(to));
	assert_int_equal(range_split(from, to, 16, prefix), 1);
	assert_int_equal(prefix[0].bits, 0);
	from[3] = 1;
	to[3] = 0xfe;
	assert_int_equal(range_split(from, to, 4, prefix), 62);
	assert_int_equal(prefix[61].bits, 32);
	assert_memory_equal(prefix[61].address, to, 4);
	memset(to, 0xff, sizeof(to));
	from[3] = 0;
	from[15] = 1;
	to[15] = 0xfe;
	assert_int_equal(range_split(from, to, 16, prefix), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests_name("range", tests, NULL, NULL);
}
