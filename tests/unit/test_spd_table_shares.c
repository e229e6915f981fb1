// SPDX-License-Identifier: BSD-3-Clause
// A peer has its share of the table of policies: whatever it adds, others are not refused, and
// their lookups cost a bounded number of probes more. Policies stored under a shorter pair of
// prefix lengths are found like all others.
#include <errno.h>

#include "eal.h"
#include "policies.h"
#include "spd_table.h"
#include "test.h"

// One of the pairs of lengths, with networks that overlap those of no other pair.
static struct spd_policy pair_policy(unsigned int i, unsigned int peer)
{
	struct spd_policy p = simple_policy(104, 0);

	p.local = prefix_of(ip_addr_from_v4(rte_cpu_to_be_32(i % 8 << 24)), 96 + 9 + i % 8);
	p.remote = prefix_of(
		ip_addr_from_v4(rte_cpu_to_be_32((8 * peer + i / 8 + 8) << 24)), 96 + 9 + i / 8);
	return p;
}

static void check_finds(const struct spd_table *t, const struct spd_policy *p, int slot)
{
	struct classifier_key key = {.source = p->local.addr, .destination = p->remote.addr};
	uint32_t found;

	spd_table_find(t, &key, 1, &found);
	assert_int_equal(found, slot + 1);
}

// More pairs of lengths than have a place: the others are stored under shorter ones, and the place
// of an emptied one is used again. Of each family for itself.
static void test_pairs_run_short(void **state)
{
	struct spd_table *t = spd_table_new(4 * SPD_TABLE_TUPLES_MAX);
	struct spd_policy v6 = simple_policy(104, 0);

	(void)state;
	assert_non_null(t);
	for (unsigned int i = 64; i-- > 0;) {
		struct spd_policy p = pair_policy(i, 0), later = p;

		assert_int_equal(spd_table_add(t, &p, NULL), 2 * (63 - i));
		later.priority = 1;
		later.remote.len++;
		assert_int_equal(spd_table_add(t, &later, NULL), 2 * (63 - i) + 1);
	}
	for (unsigned int i = 0; i < 64; i++)
		check_finds(t, &(struct spd_policy[]){pair_policy(i, 0)}[0], 2 * (63 - (int)i));
	v6.family = IP_V6;
	v6.local = v6.remote = (struct ip_prefix){0};
	assert_int_equal(spd_table_add(t, &v6, NULL), 128);
	for (unsigned int slot = 0; slot < 129; slot++)
		spd_table_remove(t, slot);
	assert_true(spd_table_is_empty(t));
	spd_table_free(t);
}

// A peer that takes all it can get has neither all policies nor all pairs of lengths: a lookup of
// the others costs a bounded number of probes more, and their policies are never refused.
static void test_greedy_holder(void **state)
{
	struct spd_table *t = spd_table_new(1000);
	struct spd_holder greedy = {0}, next[16] = {0};
	int slot, n = 0;

	(void)state;
	assert_non_null(t);
	for (unsigned int i = 0; i < 64; i++) {
		struct spd_policy p = pair_policy(i, 0);

		slot = spd_table_add(t, &p, &greedy);
		assert_in_range(slot, 0, 63);
		check_finds(t, &p, slot);
	}
	assert_in_range(greedy.tuples[IP_V4], 1, 13);
	for (; (slot = spd_table_add(t,
			&(struct spd_policy[]){simple_policy(104, (uint32_t)n << 8)}[0],
			&greedy)) >= 0;
		n++)
		;
	assert_int_equal(slot, -EDQUOT);
	assert_int_equal(greedy.policies, 200);
	for (unsigned int i = 0; i < COUNT_OF(next); i++) {
		struct spd_policy p = pair_policy(i, 1 + i);

		slot = spd_table_add(t, &p, &next[i]);
		assert_in_range(slot, 200, 999);
		check_finds(t, &p, slot);
	}
	spd_table_free(t);
}

// Peers that conspire use up all pairs of lengths, whichever of their policies are refused: those
// of another one are stored under a shorter pair.
static void test_greedy_holders(void **state)
{
	struct spd_table *t = spd_table_new(30000);
	struct spd_holder greedy[24] = {0}, next = {0};
	struct spd_policy p;
	unsigned int tuples = 0;
	int slot;

	(void)state;
	assert_non_null(t);
	for (unsigned int i = 0; i < COUNT_OF(greedy); i++) {
		for (unsigned int k = 0; k < 64; k++) {
			p = pair_policy((k + 3 * i) % 64, i);
			spd_table_add(t, &p, &greedy[i]);
		}
		tuples += greedy[i].tuples[IP_V4];
	}
	assert_true(tuples >= SPD_TABLE_TUPLES_MAX - 1);
	p = simple_policy(96 + 31, 0x0a010100);
	slot = spd_table_add(t, &p, &next);
	assert_true(slot >= 0);
	check_finds(t, &p, slot);
	spd_table_free(t);
}

// Of the policies between the same networks.
static void test_greedy_between_networks(void **state)
{
	struct spd_table *t = spd_table_new(1000);
	struct spd_policy p = simple_policy(104, 0x0a010100);
	struct spd_holder greedy = {0}, next = {0};

	(void)state;
	assert_non_null(t);
	while (spd_table_add(t, &p, &greedy) >= 0)
		;
	assert_int_equal(spd_table_add(t, &p, &greedy), -E2BIG);
	assert_int_equal(greedy.policies, 22);
	for (unsigned int i = 0; i < 14; i++)
		assert_true(spd_table_add(t, &p, &next) >= 0);
	assert_int_equal(spd_table_add(t, &p, &next), -E2BIG);
	spd_table_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs_run_short),
		cmocka_unit_test(test_greedy_holder),
		cmocka_unit_test(test_greedy_holders),
		cmocka_unit_test(test_greedy_between_networks),
	};

	return cmocka_run_group_tests(tests, eal_group_start, eal_group_stop);
}
