// SPDX-License-Identifier: BSD-3-Clause
// The reports about multicast groups and their times (RFC 3810 6, 8.2; RFC 2710 4), under a
// simulated clock. Delays are random: each property is tested with many.
#include <errno.h>

#include "eal.h"
#include "listener.h"
#include "test.h"

#define PORTS  2
#define PORT   1
#define GROUPS 3
#define ROUNDS 200

static const struct ip_addr group[GROUPS] = {
	{.b = {0xff, 2, [11] = 1, [12] = 0xff, [15] = 1}},
	{.b = {0xff, 2, [11] = 1, [12] = 0xff, [15] = 2}},
	{.b = {0xff, 2, [15] = 2}},
};
static const struct ip_addr other = {.b = {0xff, 2, [11] = 1, [12] = 0xff, [15] = 9}}, all;

static struct listener *l;
static uint64_t now;
static struct {
	unsigned int calls, groups; // since they were cleared
	uint64_t at;
	bool v1;
	enum mld_record record;
	unsigned int of[GROUPS]; // how often each
	uint64_t when[GROUPS];
} reported;

static void report(void *arg, uint16_t port, bool v1, enum mld_record record,
	const struct ip_addr g[], unsigned int n)
{
	assert_ptr_equal(arg, &reported);
	assert_int_equal(port, PORT);
	assert_in_range(n, 1, GROUPS);
	reported.calls++;
	reported.groups += n;
	reported.at = now;
	reported.v1 = v1;
	reported.record = record;
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int k = 0; k < GROUPS; k++)
			if (ip_addr_equal(&g[i], &group[k])) {
				reported.of[k]++;
				reported.when[k] = now;
			}
}

static void pass(uint64_t ms)
{
	for (uint64_t end = now + ms; now < end; now += 100)
		listener_tick(l, now);
}

static int begin(void **state)
{
	const struct listener_params p = {.n_ports = PORTS, .report = report, .arg = &reported};

	(void)state;
	l = listener_new(&p);
	if (l == NULL)
		return -1;
	for (unsigned int i = 0; i < GROUPS; i++)
		if (listener_add(l, PORT, &group[i]) < 0)
			return -1;
	now = 1000000;
	memset(&reported, 0, sizeof(reported));
	return 0;
}

static int end(void **state)
{
	(void)state;
	listener_free(l);
	return 0;
}

static void ask(const struct ip_addr *g, uint32_t delay_ms, uint32_t interval_s)
{
	const struct mld_query q = {.group = *g, .delay_ms = delay_ms, .interval_s = interval_s};

	memset(&reported, 0, sizeof(reported));
	listener_query(l, PORT, &q, now);
}

static void query_v1(const struct ip_addr *g, uint32_t delay_ms)
{
	const struct mld_query q = {.group = *g, .delay_ms = delay_ms, .v1 = true};

	memset(&reported, 0, sizeof(reported));
	listener_query(l, PORT, &q, now);
}

static void expect_each(unsigned int times)
{
	for (unsigned int i = 0; i < GROUPS; i++)
		assert_int_equal(reported.of[i], times);
	assert_int_equal(reported.groups, GROUPS * times);
}

static void test_nothing_unasked(void **state)
{
	(void)state;
	pass(300000);
	assert_int_equal(reported.calls, 0);
}

// At once, and again within a second (RFC 3810 6.1).
static void test_joins(void **state)
{
	uint64_t least = UINT64_MAX, most = 0;

	(void)state;
	for (unsigned int i = 0; i < ROUNDS; i++) {
		uint64_t start = now;

		memset(&reported, 0, sizeof(reported));
		listener_report_all(l, PORT);
		pass(100);
		assert_int_equal(reported.calls, 1);
		assert_int_equal(reported.at, start);
		pass(2000);
		expect_each(2);
		assert_int_equal(reported.calls, 2);
		assert_int_equal(reported.record, MLD_JOINS);
		assert_false(reported.v1);
		least = RTE_MIN(least, reported.at - start);
		most = RTE_MAX(most, reported.at - start);
	}
	assert_in_range(least, 100, 200);
	assert_in_range(most, 800, 1000);
}

static void test_general(void **state)
{
	uint64_t least = UINT64_MAX, most = 0;

	(void)state;
	for (unsigned int i = 0; i < ROUNDS; i++) {
		uint64_t start = now;

		ask(&all, 5000, 125);
		pass(20000);
		expect_each(1);
		assert_int_equal(reported.calls, 1);
		assert_int_equal(reported.record, MLD_LISTENS);
		least = RTE_MIN(least, reported.at - start);
		most = RTE_MAX(most, reported.at - start);
	}
	assert_in_range(least, 0, 500);
	assert_in_range(most, 4500, 5000);
}

// About one group; about a group that is not joined.
static void test_specific(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ROUNDS; i++) {
		uint64_t start = now;

		ask(&group[1], 1000, 125);
		pass(5000);
		assert_int_equal(reported.groups, 1);
		assert_int_equal(reported.of[1], 1);
		assert_in_range(reported.at, start, start + 1000);
	}
	ask(&other, 1000, 125);
	pass(5000);
	assert_int_equal(reported.calls, 0);
}

// Delays that are shorter than a tick, or 0.
static void test_at_once(void **state)
{
	static const uint32_t delays[] = {0, 1, 99, 100};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(delays); i++) {
		uint64_t start = now;

		ask(&all, delays[i], 125);
		pass(100);
		expect_each(1);
		assert_int_equal(reported.at, start);
	}
}

// The earlier report serves both queries (RFC 3810 6.2), and a later query delays nothing.
static void test_together(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ROUNDS; i++) {
		uint64_t start = now;

		ask(&all, 1000, 125);
		ask(&group[0], 8000000, 125);
		ask(&all, 8000000, 125);
		pass(3000);
		expect_each(1);
		assert_in_range(reported.at, start, start + 1000);
		ask(&all, 10000, 125);
		start = now;
		ask(&group[0], 500, 125);
		pass(20000);
		expect_each(1);
		assert_in_range(reported.when[0], start, start + 500);
	}
}

// Any number of queries.
static void test_flood(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 100; i++) {
		ask(&all, 0, 125);
		for (unsigned int n = 0; n < 1000; n++)
			ask(&group[n % GROUPS], 0, 125);
		pass(100);
		assert_int_equal(reported.calls, 1);
		expect_each(1);
	}
}

// RFC 3810 8.2.1, 9.12: version 1 as long as a router uses it, 2 * 125 s + 10 s from its last
// query.
static void test_older_router(void **state)
{
	uint64_t first = UINT64_MAX, last = 0;
	unsigned int apart = 0;

	(void)state;
	listener_report_all(l, PORT);
	pass(100);
	query_v1(&all, 10000); // cancels the reports pending in version 2
	pass(20000);
	expect_each(1);
	assert_true(reported.v1);
	assert_int_equal(reported.record, MLD_LISTENS);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		uint64_t start = now;

		query_v1(&all, 10000);
		pass(10000);
		expect_each(1);
		apart += reported.when[0] != reported.when[1]; // each group at its own time
		first = RTE_MIN(first, reported.when[2] - start);
		last = RTE_MAX(last, reported.when[2] - start);
	}
	assert_in_range(apart, ROUNDS / 2, ROUNDS);
	assert_in_range(first, 0, 1000);
	assert_in_range(last, 9000, 10000);

	uint64_t last_query = now;

	query_v1(&all, 10000);
	pass(249000);
	ask(&all, 1000, 0); // another router's, which is answered in the older version
	pass(2000);
	expect_each(1);
	assert_true(reported.v1);
	now = last_query + 260000 - 100;
	pass(100);
	ask(&all, 0, 0); // just before
	pass(100);
	assert_int_equal(reported.calls, 0); // cancelled by the change of version
	ask(&all, 0, 0);
	pass(100);
	expect_each(1);
	assert_false(reported.v1);
}

// The query interval in a query of version 2 is used.
static void test_interval(void **state)
{
	(void)state;
	ask(&all, 0, 20);
	pass(100);
	query_v1(&all, 1000);
	pass(40900);
	ask(&all, 0, 20);
	pass(100);
	assert_true(reported.v1);
	pass(100);
	ask(&all, 0, 20);
	pass(100);
	assert_int_equal(reported.calls, 1);
	assert_false(reported.v1);
}

static void test_joins_v1(void **state)
{
	uint64_t most = 0;

	(void)state;
	for (unsigned int i = 0; i < ROUNDS; i++) {
		query_v1(&other, 0);
		listener_report_all(l, PORT);

		uint64_t start = now;

		pass(10100);
		expect_each(2);
		assert_true(reported.v1);
		assert_int_equal(reported.record, MLD_JOINS);
		most = RTE_MAX(most, reported.at - start);
	}
	assert_in_range(most, 9000, 10000); // RFC 2710 7.10
}

// The routers of another link are separate.
static void test_restart(void **state)
{
	(void)state;
	query_v1(&all, 10000);
	listener_restart(l, PORT);
	pass(20000);
	expect_each(2);
	assert_false(reported.v1);
	assert_int_equal(reported.record, MLD_JOINS);
}

static void test_leave(void **state)
{
	(void)state;
	listener_leave(l);
	expect_each(1);
	assert_int_equal(reported.record, MLD_LEAVES);
	assert_false(reported.v1);
	query_v1(&other, 0);
	listener_leave(l);
	expect_each(1);
	assert_true(reported.v1);
}

static void test_keep(void **state)
{
	(void)state;
	reported.calls = reported.of[0] = 0;
	listener_keep(l, PORT, group, GROUPS);
	assert_int_equal(reported.calls, 0);
	listener_keep(l, PORT, &group[1], GROUPS - 1);
	assert_int_equal(reported.record, MLD_LEAVES);
	assert_int_equal(reported.of[0], 1);
	assert_int_equal(reported.calls, 1);
}

static void test_room(void **state)
{
	struct ip_addr g = other;

	(void)state;
	for (unsigned int i = 0; i < GROUPS; i++)
		assert_int_equal(listener_add(l, PORT, &group[i]), 0); // known
	for (unsigned int i = GROUPS; i < LISTENER_GROUPS_MAX; i++) {
		g.b[14] = (uint8_t)i;
		assert_int_equal(listener_add(l, PORT, &g), 0);
	}
	g.b[14] = 0xff;
	assert_int_equal(listener_add(l, PORT, &g), -ENOSPC);
}

static int start(void **state)
{
	(void)state;
	eal_start();
	return 0;
}

static int stop(void **state)
{
	(void)state;
	eal_stop();
	return 0;
}

#define listener_test(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		listener_test(test_nothing_unasked),
		listener_test(test_joins),
		listener_test(test_general),
		listener_test(test_specific),
		listener_test(test_at_once),
		listener_test(test_together),
		listener_test(test_flood),
		listener_test(test_older_router),
		listener_test(test_interval),
		listener_test(test_joins_v1),
		listener_test(test_restart),
		listener_test(test_leave),
		listener_test(test_keep),
		listener_test(test_room),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
