// SPDX-License-Identifier: BSD-3-Clause
// The neighbour table under a simulated clock: states, requests and their rate, and limits.
#include <errno.h>

#include "eal.h"
#include "neigh_lookup.h"
#include "test.h"

#define PORT        1
#define REACHABLE_S 30
#define TABLE_MAX   16

static _Thread_local struct neigh_hints hints;

// Requests that the table sent.
static struct {
	unsigned int n;
	struct ip_addr addr; // of the last one
	struct rte_ether_addr to;
	bool to_all;
	uint16_t port;
} requests;

static void solicit(
	void *arg, uint16_t port, const struct ip_addr *addr, const struct rte_ether_addr *to)
{
	assert_ptr_equal(arg, &requests);
	requests.n++;
	requests.port = port;
	requests.addr = *addr;
	requests.to_all = to == NULL;
	if (to != NULL)
		requests.to = *to;
}

static struct neigh_table *table_new(uint32_t max)
{
	struct neigh_table *t = neigh_table_new(&(struct neigh_params){.max = max,
		.reachable_s = REACHABLE_S,
		.qsbr = eal_qsbr,
		.solicit = solicit,
		.arg = &requests});

	assert_non_null(t);
	requests.n = 0;
	memset(&hints, 0, sizeof(hints));
	return t;
}

static struct ip_addr addr(unsigned int i)
{
	return ip_addr_from_v4(rte_cpu_to_be_32(0x0a000000 + i));
}

static struct rte_ether_addr mac(unsigned int i)
{
	return (struct rte_ether_addr){{2, 0, 0, 0, (uint8_t)(i >> 8), (uint8_t)i}};
}

static void learn(struct neigh_table *t, unsigned int i, unsigned int m, bool create, uint64_t now)
{
	struct ip_addr a = addr(i);
	struct rte_ether_addr at = mac(m);

	neigh_learn(t, PORT, &a, &at, create, now);
}

static int set_static(struct neigh_table *t, unsigned int i, unsigned int m)
{
	struct ip_addr a = addr(i);
	struct rte_ether_addr at = mac(m);

	return neigh_set_static(t, PORT, &a, &at);
}

static void resolve(struct neigh_table *t, unsigned int i, uint64_t now)
{
	struct ip_addr a = addr(i);

	neigh_resolve(t, PORT, &a, 0, now);
}

static enum neigh_answer ask(const struct neigh_table *t, unsigned int i, struct rte_ether_addr *at)
{
	struct ip_addr a = addr(i);

	return neigh_lookup(t, &hints, neigh_lookup_start(t, &hints, PORT, &a), PORT, &a, at);
}

static bool find(struct neigh_table *t, unsigned int i, struct neigh_view *v)
{
	struct ip_addr a = addr(i);

	for (unsigned int n = 0; neigh_list(t, v, 1, n, 0) > 0; n++)
		if (ip_addr_equal(&v->addr, &a) && v->port == PORT)
			return true;
	return false;
}

static bool has(struct neigh_table *t, unsigned int i)
{
	return find(t, i, &(struct neigh_view){.port = 0});
}

static void expect(struct neigh_table *t, unsigned int i, enum neigh_answer answer)
{
	struct rte_ether_addr at;

	assert_true(has(t, i));
	assert_int_equal(ask(t, i, &at), answer);
}

static void expect_at(struct neigh_table *t, unsigned int i, unsigned int m)
{
	struct rte_ether_addr at, right = mac(m);

	assert_int_equal(ask(t, i, &at), NEIGH_KNOWN);
	assert_memory_equal(&at, &right, sizeof(at));
}

static enum neigh_state state_of(struct neigh_table *t, unsigned int i)
{
	struct neigh_view v;

	assert_true(find(t, i, &v));
	return v.state;
}

// Ticks every 100 ms from after now to then.
static uint64_t run(struct neigh_table *t, uint64_t now, uint64_t then)
{
	for (now += 100; now <= then; now += 100)
		neigh_tick(t, now);
	return then;
}

static void test_answer(void **state)
{
	struct neigh_table *t = table_new(TABLE_MAX);
	struct ip_addr a = addr(1);

	(void)state;
	assert_false(has(t, 1));
	resolve(t, 1, 5000);
	assert_int_equal(requests.n, 1);
	assert_true(requests.to_all);
	assert_true(ip_addr_equal(&requests.addr, &a));
	assert_int_equal(requests.port, PORT);
	expect(t, 1, NEIGH_WAIT);
	learn(t, 1, 7, false, 5010);
	expect_at(t, 1, 7);
	assert_int_equal(state_of(t, 1), NEIGH_REACHABLE);
	resolve(t, 1, 5020); // another packet was too late
	assert_int_equal(requests.n, 1);
	neigh_table_free(t);
	neigh_table_free(NULL);
}

// RFC 1122 2.3.2.1: at most one request a second, however many packets are held.
static void test_no_answer(void **state)
{
	struct neigh_table *t = table_new(TABLE_MAX);
	uint64_t now;

	(void)state;
	for (now = 0; now < 2000; now += 10) {
		resolve(t, 1, now);
		if (now % 100 == 0)
			neigh_tick(t, now);
		assert_int_equal(requests.n, 1 + now / 1000);
		expect(t, 1, NEIGH_WAIT);
	}
	now = run(t, 2000 - 100, 2900);
	assert_int_equal(requests.n, 3);
	now = run(t, now, 3000);
	expect(t, 1, NEIGH_UNREACHABLE);
	assert_int_equal(state_of(t, 1), NEIGH_FAILED);
	resolve(t, 1, now);
	run(t, now, 5900);
	assert_int_equal(requests.n, 3);
	expect(t, 1, NEIGH_UNREACHABLE);
	run(t, 5900, 6000);
	assert_false(has(t, 1)); // removed: the next packet solicits again
	resolve(t, 1, 6000);
	assert_int_equal(requests.n, 4);
	expect(t, 1, NEIGH_WAIT);
	neigh_table_free(t);
}

static void test_answer_when_failed(void **state)
{
	struct neigh_table *t = table_new(TABLE_MAX);

	(void)state;
	resolve(t, 1, 0);
	run(t, 0, 3000);
	expect(t, 1, NEIGH_UNREACHABLE);
	learn(t, 1, 7, false, 3050);
	expect_at(t, 1, 7);
	neigh_table_free(t);
}

// RFC 826: others' messages update an existing entry, but create none.
static void test_learn(void **state)
{
	struct neigh_table *t = table_new(TABLE_MAX);

	(void)state;
	learn(t, 1, 7, false, 0);
	assert_false(has(t, 1));
	learn(t, 1, 7, true, 0);
	expect_at(t, 1, 7);
	learn(t, 1, 8, false, 10);
	expect_at(t, 1, 8);
	assert_int_equal(requests.n, 0);
	neigh_table_free(t);
}

static void test_refresh(void **state)
{
	struct neigh_table *t = table_new(TABLE_MAX);
	struct rte_ether_addr right = mac(7);
	uint64_t now = REACHABLE_S * 1000;

	(void)state;
	learn(t, 1, 7, true, 0);
	run(t, 0, now - 100);
	assert_int_equal(state_of(t, 1), NEIGH_REACHABLE);
	run(t, now - 100, now);
	assert_int_equal(state_of(t, 1), NEIGH_STALE);
	assert_int_equal(requests.n, 0);
	expect_at(t, 1, 7); // still used, but to be confirmed
	run(t, now, now + 100);
	assert_int_equal(state_of(t, 1), NEIGH_PROBE);
	assert_int_equal(requests.n, 1);
	assert_false(requests.to_all);
	assert_memory_equal(&requests.to, &right, sizeof(right));
	expect_at(t, 1, 7);
	learn(t, 1, 7, false, now + 200);
	assert_int_equal(state_of(t, 1), NEIGH_REACHABLE);
	neigh_table_free(t);
}

// A station that has left the link: unicast requests, then multicast, then failed.
static void test_refresh_in_vain(void **state)
{
	struct neigh_table *t = table_new(TABLE_MAX);
	uint64_t now = REACHABLE_S * 1000;

	(void)state;
	learn(t, 1, 7, true, 0);
	run(t, 0, now);
	expect_at(t, 1, 7);
	now = run(t, now, now + 100); // first request
	now = run(t, now, now + 2900);
	assert_int_equal(requests.n, 3);
	assert_false(requests.to_all);
	expect_at(t, 1, 7);
	now = run(t, now, now + 200);
	assert_int_equal(state_of(t, 1), NEIGH_INCOMPLETE);
	assert_int_equal(requests.n, 4);
	assert_true(requests.to_all);
	expect(t, 1, NEIGH_WAIT);
	run(t, now, now + 3000);
	expect(t, 1, NEIGH_UNREACHABLE);
	assert_int_equal(requests.n, 6);
	neigh_table_free(t);
}

static void test_unused_is_evicted(void **state)
{
	struct neigh_table *t = table_new(TABLE_MAX);

	(void)state;
	learn(t, 1, 7, true, 0);
	run(t, 0, 59900);
	assert_true(has(t, 1));
	run(t, 59900, 60000);
	assert_false(has(t, 1));
	assert_int_equal(requests.n, 0);
	neigh_table_free(t);
}

static void test_static(void **state)
{
	struct neigh_table *t = table_new(TABLE_MAX);

	(void)state;
	assert_int_equal(set_static(t, 1, 7), 0);
	expect_at(t, 1, 7);
	learn(t, 1, 9, true, 0);
	run(t, 0, 200000);
	expect_at(t, 1, 7);
	assert_int_equal(requests.n, 0);
	assert_int_equal(set_static(t, 1, 8), 0);
	expect_at(t, 1, 8);
	assert_int_equal(state_of(t, 1), NEIGH_STATIC);
	learn(t, 2, 7, true, 0);
	assert_int_equal(set_static(t, 2, 8), 0); // learnt before
	expect_at(t, 2, 8);
	neigh_table_free(t);
}

static void test_flush(void **state)
{
	struct neigh_table *t = table_new(TABLE_MAX);
	struct ip_addr a = addr(3);
	struct rte_ether_addr at = mac(3);

	(void)state;
	set_static(t, 1, 1);
	learn(t, 2, 2, true, 1000);
	neigh_learn(t, PORT + 1, &a, &at, true, 1000);
	neigh_forget(t, PORT + 1);
	expect_at(t, 2, 2);
	neigh_learn(t, PORT + 1, &a, &at, true, 1000);
	neigh_forget(t, PORT);
	assert_false(has(t, 2));
	expect_at(t, 1, 1);
	assert_int_equal(neigh_lookup(t, &hints, neigh_lookup_start(t, &hints, PORT + 1, &a),
				 PORT + 1, &a, &at),
		NEIGH_KNOWN);
	assert_true(!neigh_remove(t, PORT, &a) && neigh_remove(t, PORT + 1, &a));
	assert_false(neigh_has(t, PORT + 1, &a));
	resolve(t, 2, 2000); // requested again
	assert_int_equal(requests.n, 1);
	neigh_table_free(t);
}

static void test_room(void **state)
{
	struct neigh_table *t = table_new(TABLE_MAX);

	(void)state;
	for (unsigned int i = 0; i < TABLE_MAX - 2; i++)
		learn(t, i, i, true, 0);
	resolve(t, 50, 10);
	resolve(t, 51, 20);
	resolve(t, 52, 30); // a scan: 50 is the oldest and is evicted
	assert_false(has(t, 50));
	expect(t, 51, NEIGH_WAIT);
	expect(t, 52, NEIGH_WAIT);
	learn(t, 51, 51, false, 40);
	learn(t, 53, 53, true, 50);
	assert_false(has(t, 52));
	expect_at(t, 53, 53);
	for (unsigned int i = 0; i < TABLE_MAX - 2; i++)
		expect_at(t, i, i);
	resolve(t, 54, 60); // all are resolved and in use now: no room
	learn(t, 54, 54, true, 60);
	assert_false(has(t, 54));
	assert_int_equal(set_static(t, 100, 7), -ENOSPC);
	for (unsigned int i = 0; i < TABLE_MAX - 2; i++)
		expect_at(t, i, i);
	neigh_table_free(t);
}

// A station claims address after address: the one unused for longest is evicted, static ones and
// those in use stay.
static void test_claims(void **state)
{
	struct neigh_table *t = table_new(TABLE_MAX);

	(void)state;
	assert_int_equal(set_static(t, 1, 1), 0);
	learn(t, 2, 2, true, 10);
	expect_at(t, 2, 2);
	neigh_tick(t, 100);
	for (unsigned int i = 100; i < 200; i++)
		learn(t, i, 9, true, i);
	for (unsigned int i = 100; i < 200; i++)
		assert_int_equal(has(t, i), i >= 200 - (TABLE_MAX - 2));
	resolve(t, 3, 200);
	learn(t, 3, 3, false, 210);
	for (unsigned int i = 300; i < 400; i++)
		learn(t, i, 9, true, i);
	for (unsigned int i = 1; i <= 3; i++)
		expect_at(t, i, i);
	neigh_table_free(t);
}

// A stale entry is evicted before one that has not been used since it was learnt, even if used
// later.
static void test_room_stale(void **state)
{
	struct neigh_table *t = table_new(TABLE_MAX);

	(void)state;
	for (unsigned int i = 1; i <= TABLE_MAX; i++)
		learn(t, i, i, true, i <= 3 ? 0 : 10000);
	for (unsigned int i = 1; i <= 3; i++)
		expect_at(t, i, i);
	run(t, 20000, REACHABLE_S * 1000);
	assert_int_equal(state_of(t, 1), NEIGH_STALE);
	expect_at(t, 3, 3); // stale, but in use again
	learn(t, 50, 50, true, REACHABLE_S * 1000);
	learn(t, 51, 51, true, REACHABLE_S * 1000);
	assert_false(has(t, 1) || has(t, 2));
	for (unsigned int i = 3; i <= TABLE_MAX; i++)
		expect_at(t, i, i);
	neigh_table_free(t);
}

// With the gateway's lock: a table of this size takes hours if each entry is searched for from the
// beginning.
static void test_list_one_by_one(void **state)
{
	const unsigned int n = 400000;
	struct neigh_table *t = table_new(n);
	struct neigh_view view;
	unsigned int listed = 0;

	(void)state;
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(set_static(t, i, 1), 0);
	while (neigh_list(t, &view, 1, listed, 0) > 0)
		listed++;
	assert_int_equal(listed, n);
	assert_int_equal(neigh_list(t, &view, 1, 0, 0), 1);
	neigh_table_free(t);
}

static void test_list(void **state)
{
	struct neigh_table *t = table_new(TABLE_MAX);
	struct neigh_view view[TABLE_MAX];
	struct rte_ether_addr none = {0};
	bool seen[10] = {false};

	(void)state;
	for (unsigned int i = 0; i < 8; i++)
		learn(t, i, i, true, 1000);
	assert_int_equal(set_static(t, 8, 8), 0);
	resolve(t, 9, 1000);
	assert_int_equal(neigh_list(t, view, 3, 0, 6000), 3);
	assert_int_equal(neigh_list(t, view + 3, 3, 3, 6000), 3);
	assert_int_equal(neigh_list(t, view + 6, TABLE_MAX - 6, 6, 6000), 4);
	assert_int_equal(neigh_list(t, view, 3, 10, 6000), 0);
	for (unsigned int i = 0; i < 10; i++) {
		unsigned int which = rte_be_to_cpu_32(ip_addr_v4(&view[i].addr)) & 0xff;
		struct rte_ether_addr right = which < 9 ? mac(which) : none;

		assert_in_range(which, 0, 9);
		assert_false(seen[which]);
		seen[which] = true;
		assert_int_equal(view[i].age_s, which < 8 ? 5 : 0); // 8 and 9 never answered
		assert_int_equal(view[i].port, PORT);
		assert_memory_equal(&view[i].mac, &right, sizeof(right));
	}
	for (enum neigh_state s = NEIGH_INCOMPLETE; s <= NEIGH_STATIC; s++)
		assert_true(strlen(neigh_state_name(s)) > 0);
	neigh_table_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answer),
		cmocka_unit_test(test_flush),
		cmocka_unit_test(test_no_answer),
		cmocka_unit_test(test_answer_when_failed),
		cmocka_unit_test(test_learn),
		cmocka_unit_test(test_refresh),
		cmocka_unit_test(test_refresh_in_vain),
		cmocka_unit_test(test_unused_is_evicted),
		cmocka_unit_test(test_static),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_claims),
		cmocka_unit_test(test_room_stale),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_list_one_by_one),
	};

	return cmocka_run_group_tests(tests, eal_qsbr_start, eal_qsbr_stop);
}
