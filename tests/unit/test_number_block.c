// SPDX-License-Identifier: BSD-3-Clause
// Blocks of sequence numbers: every number is of exactly one member, and steps over them count own
// numbers alone.
#include "number_block.h"

#include "test.h"

#define EDGE 3

static void check_alone(void **state)
{
	const struct number_blocks b = number_blocks_of(0, true);

	(void)state;
	assert_true(number_is_own(&b, 1) && number_is_own(&b, UINT64_MAX));
	assert_true(number_block_end(&b, 1) == UINT64_MAX);
	assert_true(number_own_from(&b, 5) == 5 && number_own_to(&b, 5) == 5);
	assert_true(number_own_after(&b, 5, 1) == 6 && number_own_after(&b, 0, 1000) == 1000);
	assert_true(number_own_after(&b, UINT64_MAX - 2, 2) == UINT64_MAX);
	assert_true(number_own_after(&b, UINT64_MAX - 2, 20) == UINT64_MAX);
}

// Around the end of a block of the first member, number end.
static void check_near(bool esn, uint64_t end)
{
	const struct number_blocks one = number_blocks_of(1, esn), two = number_blocks_of(2, esn);
	const uint64_t size = esn ? NUMBER_BLOCK_ESN : NUMBER_BLOCK;

	for (uint64_t seq = end - EDGE; seq <= end; seq++) {
		assert_true(number_is_own(&one, seq) && !number_is_own(&two, seq));
		assert_true(number_block_end(&one, seq) == end);
		assert_true(number_own_from(&one, seq) == seq && number_own_to(&one, seq) == seq);
		assert_true(number_own_from(&two, seq) == end + 1);
		assert_true(number_own_after(&two, seq, 1) == end + 1);
		assert_true(number_own_after(&two, seq, size) == end + size);
		assert_true(number_own_after(&two, seq, size + 1) == end + 2 * size + 1);
		for (uint64_t n = 1; n <= 2 * EDGE; n++) {
			uint64_t left = end - seq; // of this block

			assert_true(number_own_after(&one, seq, n) ==
				    (n <= left ? seq + n : end + size + n - left));
			assert_true(number_own_after(&one, seq, size + n) ==
				    (n <= left ? seq + n : end + size + n - left) + 2 * size);
		}
	}
	for (uint64_t seq = end + 1; seq <= end + EDGE; seq++) {
		assert_true(number_is_own(&two, seq) && !number_is_own(&one, seq));
		assert_true(number_block_end(&two, seq) == end + size);
		assert_true(number_own_from(&one, seq) == end + size + 1);
		assert_true(number_own_to(&one, seq) == end);
	}
}

static void check_members(void **state)
{
	const struct number_blocks two = number_blocks_of(2, false);

	(void)state;
	check_near(false, NUMBER_BLOCK - 1);
	check_near(false, 3 * NUMBER_BLOCK - 1);
	check_near(false, UINT32_MAX - NUMBER_BLOCK);
	check_near(true, NUMBER_BLOCK_ESN - 1);
	check_near(true, (UINT64_C(1) << 40) + NUMBER_BLOCK_ESN - 1);
	assert_true(number_own_to(&two, 5) == 0); // the first block is the other one's
}

// Each number is that of one member, and the functions find the own ones nearest to it.
static void check_fleet_near(uint64_t near)
{
	for (uint64_t seq = near - 3; seq < near + 3; seq++) {
		unsigned int owners = 0;

		for (unsigned int m = 1; m <= NUMBER_FLEET_MEMBERS; m++) {
			const struct number_blocks b = number_blocks_of_fleet(m);
			uint64_t from = number_own_from(&b, seq), to = number_own_to(&b, seq);

			owners += number_is_own(&b, seq);
			assert_true(number_is_own(&b, from) && from >= seq);
			assert_true(from - seq < NUMBER_FLEET_TURN);
			assert_true(from == seq || number_own_to(&b, from - 1) == to);
			assert_true(to <= seq && (to == 0 || number_is_own(&b, to)));
			assert_true(number_own_after(&b, seq, 1) == number_own_from(&b, seq + 1));
			from = number_own_from(&b, seq + 1);
			assert_true(number_own_after(&b, seq, NUMBER_BLOCK_FLEET + 1) ==
				    from + NUMBER_FLEET_TURN);
		}
		assert_int_equal(owners, 1);
	}
}

static void check_fleet(void **state)
{
	const struct number_blocks one = number_blocks_of_fleet(1);
	const struct number_blocks last = number_blocks_of_fleet(NUMBER_FLEET_MEMBERS);

	(void)state;
	check_fleet_near(3);
	check_fleet_near(NUMBER_BLOCK_FLEET);
	check_fleet_near(5 * NUMBER_BLOCK_FLEET);
	check_fleet_near(NUMBER_FLEET_TURN);
	check_fleet_near((UINT64_C(1) << 40) + 7 * NUMBER_BLOCK_FLEET);
	assert_true(number_own_to(&last, 5) == 0);
	// At the end of all numbers there are no more: it does not begin again.
	assert_true(number_own_from(&one, UINT64_MAX - 5) == UINT64_MAX);
	assert_true(number_own_after(&one, UINT64_MAX - NUMBER_FLEET_TURN,
			    2 * NUMBER_BLOCK_FLEET) == UINT64_MAX);
	assert_true(number_own_from(&last, UINT64_MAX - 5) == UINT64_MAX - 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(check_alone),
		cmocka_unit_test(check_members), cmocka_unit_test(check_fleet)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
