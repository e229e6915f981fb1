// SPDX-License-Identifier: BSD-3-Clause
// The peer of a pair of gateways leaves out numbers when the other one takes over.
#include "conf_apply.h"
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

// With ESN a fleet refuses more: numbers for minutes without etcd.
static void test_esn(void **state)
{
	uint64_t before;

	(void)state;
	desk_reload("", "esn = true;");
	accepted(100);
	before = out();
	accepted(NUMBER_BLOCK + 100);
	assert_int_equal(out(), before + NUMBER_LEAP_ESN);
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

static void reload_with(const char *request)
{
	struct conf *conf = desk_conf("", "");

	desk_replace(conf_change(conf, "argument", request, strlen(request), stderr));
	conf_free(conf);
}

// Each outbound SA of the policies leaves numbers out, once.
static void test_shared_sas(void **state)
{
	(void)state;
	reload_with("sa add { name = \"out-5\"; direction = \"out\"; spi = \"0x1007\"; "
		    "cipher = \"aes-128-gcm\"; local = \"192.0.2.1\"; remote = \"192.0.2.2\"; "
		    "cipher_key = \"000102030405060708090a0b0c0d0e0fa0a1a2a7\"; }\n"
		    "policy add { name = \"again\"; local = \"10.1.0.0/24\"; remote = "
		    "\"10.8.0.0/24\"; action = \"protect\"; out = \"out-4\"; in = \"in-4\"; }\n"
		    "policy add { name = \"other\"; local = \"10.1.0.0/24\"; remote = "
		    "\"10.9.0.0/24\"; action = \"protect\"; out = \"out-5\"; in = \"in-4\"; }");
	accepted(100);
	accepted(NUMBER_BLOCK + 100);
	assert_int_equal(out(), LEAP);
	assert_int_equal(sa_out_seq(desk_sa_out("out-5")), LEAP);
	accepted(NUMBER_BLOCK + 101);
	assert_int_equal(out(), LEAP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		desk_test(test_peer_leaves_numbers_out),
		desk_test(test_esn),
		desk_test(test_other_peers),
		desk_test(test_lifetime),
		desk_test(test_shared_sas),
	};

	return cmocka_run_group_tests(tests, harness_start, harness_stop);
}
