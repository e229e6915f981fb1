// SPDX-License-Identifier: BSD-3-Clause
// The peer of a pair of gateways leaves out numbers when the other one takes over.
#include "desk.h"

#define LEAP (NUMBER_BLOCK / 4)

static void accepted(uint64_t number)
{
	assert_true(replay_commit(&desk_sa_in("in-4")->sa.per_packet.replay, number));
	desk_wait(100);
}

static uint64_t out(void)
{
	return sa_out_seq(desk_sa_out("out-4"));
}

static void test_peer_leaves_numbers_out(void **state)
{
	(void)state;
	accepted(100);
	assert_int_equal(out(), 0);
	accepted(NUMBER_BLOCK + 100);
	assert_int_equal(out(), LEAP);
	accepted(NUMBER_BLOCK + 101);
	assert_int_equal(out(), LEAP);
	accepted(3 * NUMBER_BLOCK);
	assert_int_equal(out(), 2 * LEAP);
	assert_true(desk_sa_out("out-4")->sa.record->rate < NUMBER_BLOCK / 1000);
}

// Not one that is as fast as it can be, nor the first packet.
static void test_other_peers(void **state)
{
	(void)state;
	accepted(NUMBER_BLOCK + 100);
	accepted(NUMBER_BLOCK + NUMBER_BLOCK / 2);
	assert_int_equal(out(), 0);
}

// A lifetime in packets counts numbers.
static void test_lifetime(void **state)
{
	(void)state;
	desk_reload("", "lifetime = { hard_packets = 16000; };");
	accepted(100);
	accepted(NUMBER_BLOCK + 100);
	assert_int_equal(out(), 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		desk_test(test_peer_leaves_numbers_out),
		desk_test(test_other_peers),
		desk_test(test_lifetime),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
