// SPDX-License-Identifier: BSD-3-Clause
// The effect of neighbour discovery on entries: the table of RFC 4861 appendix C row by row; and
// duplicate address detection under a simulated clock.
#include <errno.h>

#include "dad.h"
#include "eal.h"
#include "neigh_lookup.h"
#include "test.h"

#define PORT 1

static struct neigh_table *t;
static struct neigh_hints hints; // about t
static const struct ip_addr addr = {.b = {0xfe, 0x80, [15] = 7}};
static const struct rte_ether_addr old = {{2, 0, 0, 0, 0, 1}}, new = {{2, 0, 0, 0, 0, 2}};
static unsigned int solicited;

static void solicit(
	void *arg, uint16_t port, const struct ip_addr *a, const struct rte_ether_addr *to)
{
	(void)arg;
	(void)to;
	assert_int_equal(port, PORT);
	assert_true(ip_addr_equal(a, &addr));
	solicited++;
}

#define NONE NEIGH_STATIC // in the table below: no entry

static enum neigh_state state_now(struct rte_ether_addr *mac)
{
	struct neigh_view view;

	if (neigh_list(t, &view, 1, 0, 0) == 0)
		return NONE;
	*mac = view.mac;
	return view.state;
}

// Brings the entry into a state, with the old link address if it has one; returns the time.
static uint64_t enter(enum neigh_state state)
{
	struct rte_ether_addr mac;
	uint64_t now = 1000;

	if (state == NONE)
		return now;
	if (state == NEIGH_INCOMPLETE || state == NEIGH_FAILED)
		neigh_resolve(t, PORT, &addr, 0, now);
	else
		neigh_learn(t, PORT, &addr, &old, true, now);
	for (; state_now(&mac) != state; now += 100) {
		assert_in_range(now, 0, 100000);
		if (state == NEIGH_PROBE)
			neigh_lookup(t, &hints, neigh_lookup_start(t, &hints, PORT, &addr), PORT,
				&addr, &mac);
		neigh_tick(t, now);
	}
	return now;
}

static void check_row(enum neigh_state from, int kind, bool s, bool o,
	const struct rte_ether_addr *mac, enum neigh_state to, const struct rte_ether_addr *right)
{
	const struct neigh_params p = {
		.max = 16, .reachable_s = 30, .qsbr = eal_qsbr, .solicit = solicit};
	struct rte_ether_addr found;
	uint64_t now;

	t = neigh_table_new(&p);
	assert_non_null(t);
	memset(&hints, 0, sizeof(hints));
	now = enter(from);
	if (kind == 'A')
		neigh_advertised(t, PORT, &addr,
			(struct neigh_advert){.mac = mac, .solicited = s, .override = o}, now);
	else
		neigh_solicited(t, PORT, &addr, mac, kind == 'C', now);
	if (state_now(&found) != to)
		fail_msg("from %s to %s", neigh_state_name(from),
			neigh_state_name(state_now(&found)));
	if (right != NULL)
		assert_memory_equal(&found, right, sizeof(found));
	neigh_table_free(t);
}

static void test_table(void **state)
{
	static const enum neigh_state known[] = {NEIGH_REACHABLE, NEIGH_STALE, NEIGH_PROBE};

	(void)state;
	// Advertisements
	for (unsigned int f = 0; f < 4; f++) {
		bool s = (f & 1) != 0, o = (f & 2) != 0;

		check_row(NONE, 'A', s, o, &new, NONE, NULL);
		check_row(NEIGH_INCOMPLETE, 'A', s, o, NULL, NEIGH_INCOMPLETE, NULL);
		check_row(
			NEIGH_INCOMPLETE, 'A', s, o, &new, s ? NEIGH_REACHABLE : NEIGH_STALE, &new);
		check_row(NEIGH_FAILED, 'A', s, o, &new, s ? NEIGH_REACHABLE : NEIGH_STALE, &new);
		for (size_t i = 0; i < COUNT_OF(known); i++) {
			enum neigh_state same = s ? NEIGH_REACHABLE : known[i];

			check_row(known[i], 'A', s, o, &old, same, &old);
			check_row(known[i], 'A', s, o, NULL, same, &old);
		}
	}
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		check_row(known[i], 'A', true, true, &new, NEIGH_REACHABLE, &new);
		check_row(known[i], 'A', false, true, &new, NEIGH_STALE, &new);
		for (unsigned int s = 0; s < 2; s++)
			check_row(known[i], 'A', s != 0, false, &new,
				known[i] == NEIGH_REACHABLE ? NEIGH_STALE : known[i], &old);
		// Solicitations
		check_row(known[i], 'H', false, false, &old, known[i], &old);
		check_row(known[i], 'H', false, false, &new, NEIGH_STALE, &new);
	}
	check_row(NEIGH_INCOMPLETE, 'H', false, false, &new, NEIGH_STALE, &new);
	check_row(NEIGH_FAILED, 'H', false, false, &new, NEIGH_STALE, &new);
	check_row(NONE, 'H', false, false, &new, NONE, NULL);
	check_row(NONE, 'C', false, false, &new, NEIGH_STALE, &new);
}

static void test_static(void **state)
{
	const struct neigh_params p = {
		.max = 16, .reachable_s = 30, .qsbr = eal_qsbr, .solicit = solicit};
	struct rte_ether_addr found;

	(void)state;
	t = neigh_table_new(&p);
	assert_int_equal(neigh_set_static(t, PORT, &addr, &old), 0);
	neigh_solicited(t, PORT, &addr, &new, true, 5);
	neigh_advertised(t, PORT, &addr,
		(struct neigh_advert){.mac = &new, .solicited = true, .override = true}, 5);
	assert_int_equal(state_now(&found), NEIGH_STATIC);
	assert_memory_equal(&found, &old, sizeof(old));
	neigh_table_free(t);
}

// RFC 4861 10: RETRANS_TIMER 1 second, MAX_MULTICAST_SOLICIT and MAX_UNICAST_SOLICIT 3.
static void test_timing(void **state)
{
	const struct neigh_params p = {
		.max = 16, .reachable_s = 30, .qsbr = eal_qsbr, .solicit = solicit};
	struct rte_ether_addr found;

	(void)state;
	t = neigh_table_new(&p);
	solicited = 0;
	neigh_resolve(t, PORT, &addr, 0, 0);
	for (uint64_t now = 0; now < 3000; now += 100) {
		neigh_tick(t, now);
		assert_int_equal(solicited, 1 + now / 1000);
		assert_int_equal(state_now(&found), NEIGH_INCOMPLETE);
	}
	neigh_tick(t, 3000);
	assert_int_equal(state_now(&found), NEIGH_FAILED);
	assert_int_equal(solicited, 3);
	neigh_table_free(t);
}

// --- duplicates ---

static struct {
	unsigned int solicited, decided;
	enum dad_state state;
} seen;

static void dad_solicit(void *arg, uint16_t port, const struct ip_addr *a)
{
	assert_ptr_equal(arg, &seen);
	assert_int_equal(port, PORT);
	assert_true(ip_addr_equal(a, &addr));
	seen.solicited++;
}

static void dad_decided(
	void *arg, uint16_t port, const struct ip_addr *a, enum dad_state was, enum dad_state state)
{
	(void)arg;
	assert_int_equal(was, seen.state);
	assert_int_equal(port, PORT);
	assert_true(ip_addr_equal(a, &addr));
	seen.decided++;
	seen.state = state;
}

static struct dad *dad_of_one(void)
{
	struct dad *d = dad_new(&(struct dad_params){
		.max = 1, .solicit = dad_solicit, .decided = dad_decided, .arg = &seen});

	assert_non_null(d);
	memset(&seen, 0, sizeof(seen));
	assert_int_equal(dad_add(d, PORT, &addr), 0);
	assert_int_equal(dad_add(d, PORT, &addr), -ENOSPC);
	return d;
}

static void test_removed(void **state)
{
	struct dad *d = dad_of_one();

	(void)state;
	dad_remove(d, PORT, &addr);
	assert_true(dad_may_use(d, &addr));
	dad_tick(d, 6000);
	assert_int_equal(seen.solicited, 0);
	dad_restart(d, PORT);
	assert_int_equal(dad_state(d, PORT, &addr), DAD_ASSIGNED);
	assert_int_equal(dad_add(d, PORT, &addr), 0); // in the same place
	assert_int_equal(dad_state(d, PORT, &addr), DAD_TENTATIVE);
	dad_tick(d, 7000);
	assert_int_equal(seen.solicited, 1);
	dad_free(d);
}

// RFC 4862 5.1: one solicitation, and a second to wait for replies.
static void test_assigned(void **state)
{
	struct dad *d = dad_of_one();

	(void)state;
	for (uint64_t now = 5000; now < 6000; now += 100) {
		dad_tick(d, now);
		assert_int_equal(seen.solicited, 1);
		assert_int_equal(dad_state(d, PORT, &addr), DAD_TENTATIVE);
	}
	dad_tick(d, 6000);
	assert_int_equal(dad_state(d, PORT, &addr), DAD_ASSIGNED);
	dad_claimed(d, PORT, &addr, 8000); // too late: it is assigned
	dad_tick(d, 9000);
	assert_int_equal(dad_state(d, PORT, &addr), DAD_ASSIGNED);
	assert_int_equal(seen.solicited, 1);
	assert_int_equal(seen.decided, 1);
	assert_int_equal(seen.state, DAD_ASSIGNED);
	dad_free(d);
	dad_free(NULL);
}

// The link may be another one now: once more, whatever the result before.
static void test_restarted(void **state)
{
	struct dad *d = dad_of_one();

	(void)state;
	dad_tick(d, 5000);
	dad_tick(d, 6000);
	dad_restart(d, PORT + 1); // another link
	assert_int_equal(dad_state(d, PORT, &addr), DAD_ASSIGNED);
	dad_restart(d, PORT);
	seen.state = DAD_TENTATIVE;
	assert_int_equal(dad_state(d, PORT, &addr), DAD_TENTATIVE);
	assert_false(dad_may_use(d, &addr));
	dad_tick(d, 6100);
	assert_int_equal(seen.solicited, 2);
	dad_claimed(d, PORT, &addr, 6200);
	assert_int_equal(dad_state(d, PORT, &addr), DAD_DUPLICATE);
	dad_restart(d, PORT);
	seen.state = DAD_TENTATIVE;
	dad_tick(d, 6200);
	dad_tick(d, 7200);
	assert_int_equal(dad_state(d, PORT, &addr), DAD_ASSIGNED);
	assert_int_equal(seen.solicited, 3);
	assert_int_equal(seen.decided, 3);
	dad_free(d);
}

static void test_duplicate(void **state)
{
	static const struct ip_addr other = {.b = {0xfe, 0x80, [15] = 8}};
	struct dad *d = dad_of_one();

	(void)state;
	dad_tick(d, 5000);
	dad_claimed(d, PORT + 1, &addr, 5000); // another link
	dad_claimed(d, PORT, &other, 5000);
	assert_int_equal(dad_state(d, PORT, &addr), DAD_TENTATIVE);
	assert_int_equal(dad_state(d, PORT, &other), DAD_ASSIGNED);
	dad_claimed(d, PORT, &addr, 5000);
	assert_int_equal(dad_state(d, PORT, &addr), DAD_DUPLICATE);
	dad_tick(d, 9000);
	dad_claimed(d, PORT, &addr, 9000);
	assert_int_equal(dad_state(d, PORT, &addr), DAD_DUPLICATE);
	assert_int_equal(seen.decided, 1);
	assert_int_equal(seen.state, DAD_DUPLICATE);
	dad_free(d);
}

// One forged advertisement disables an address for seconds, not for ever; an owner that continues
// to claim it keeps it, and is solicited less and less often, at least once a minute.
static void test_duplicate_again(void **state)
{
	struct dad *d = dad_of_one();
	uint64_t now, last_solicited = 0;

	(void)state;
	dad_tick(d, 0);
	dad_claimed(d, PORT, &addr, 0);
	for (now = 100; now < 600000; now += 100) {
		unsigned int before = seen.solicited;

		dad_tick(d, now);
		if (seen.solicited > before) {
			assert_in_range(now - last_solicited, 5000, 60100);
			last_solicited = now;
			dad_claimed(d, PORT, &addr, now + 50); // the owner's answer
		}
		dad_claimed(d, PORT, &addr, now + 60); // further claims change nothing
		assert_int_equal(dad_state(d, PORT, &addr), DAD_DUPLICATE);
	}
	assert_in_range(seen.solicited, 10, 16);
	assert_int_equal(seen.decided, 1);
	for (uint64_t end = now + 62000; now < end; now += 100)
		dad_tick(d, now);
	assert_int_equal(dad_state(d, PORT, &addr), DAD_ASSIGNED);
	assert_int_equal(seen.decided, 2);
	dad_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_static),
		cmocka_unit_test(test_timing),
		cmocka_unit_test(test_removed),
		cmocka_unit_test(test_assigned),
		cmocka_unit_test(test_restarted),
		cmocka_unit_test(test_duplicate),
		cmocka_unit_test(test_duplicate_again),
	};

	return cmocka_run_group_tests(tests, eal_qsbr_start, eal_qsbr_stop);
}
