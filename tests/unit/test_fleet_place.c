// SPDX-License-Identifier: BSD-3-Clause
// Where the groups of a fleet are, for random fleets: as even as one group allows, with few moves,
// which end, and with groups at their pins.
#include "fleet_place.h"
#include "number_block.h"
#include "test.h"

#define FLEETS 100

static uint64_t seed = 1;

static unsigned int below(unsigned int n)
{
	return (unsigned int)(random_u64(&seed) % n);
}

// All groups are free. Without weights all have the same.
static void fleet_make(struct fleet_place *p, bool weights)
{
	memset(p, 0, sizeof(*p));
	p->n_members = 1 + below(NUMBER_FLEET_MEMBERS);
	p->n_groups = below(CONF_GROUPS_MAX + 1);
	for (unsigned int i = 0; i < p->n_members; i++)
		p->member[i] = (struct fleet_place_member){
			.weight = weights ? 1 + below(1000) : 100, .takes = true};
	for (unsigned int i = 0; i < p->n_groups; i++)
		p->group[i] = (struct fleet_place_group){
			.weight = weights ? 1 + below(50) : 1, .owner = FLEET_NONE};
}

static void pins_make(struct fleet_place *p)
{
	for (unsigned int i = 0; i < p->n_groups; i++) {
		struct fleet_place_group *g = &p->group[i];

		g->n_pins = below(3) == 0 ? below(CONF_PINS_MAX + 1) : 0;
		for (unsigned int k = 0; k < g->n_pins; k++)
			g->pin[k] = below(p->n_members);
	}
}

// Each group that is free is taken by the member that is first. Each time one of them, in any
// order, as members are not equally fast. Returns how many.
static unsigned int free_are_taken(struct fleet_place *p)
{
	unsigned int n = 0, before;

	do {
		unsigned int m = below(p->n_members), rank[CONF_GROUPS_MAX];

		before = n;
		for (unsigned int i = 0; i < p->n_members && n == before; i++) {
			unsigned int member = (m + i) % p->n_members;

			fleet_place_load(p);
			fleet_place_rank(p, member, rank);
			for (unsigned int g = 0; g < p->n_groups && n == before; g++)
				if (rank[g] == 0) {
					assert_int_equal(p->group[g].owner, FLEET_NONE);
					p->group[g].owner = member;
					n++;
				}
		}
	} while (n != before);
	for (unsigned int g = 0; g < p->n_groups; g++)
		assert_int_not_equal(p->group[g].owner, FLEET_NONE);
	fleet_place_load(p);
	return n;
}

static unsigned int member_at(const struct fleet_place *p, unsigned int fuller)
{
	unsigned int m = 0;

	while (fleet_place_fuller(p, m) != fuller)
		m++;
	return m;
}

// Members hand groups over, the fuller ones first, until none does. Returns how many moves that
// takes.
static unsigned int all_are_moved(struct fleet_place *p)
{
	unsigned int moves = 0, group, to;

	for (unsigned int i = 0; i < p->n_members;) {
		unsigned int member = member_at(p, i++);

		if (!fleet_place_move(p, member, &group, &to))
			continue;
		assert_int_equal(p->group[group].owner, member);
		p->group[group].owner = to;
		fleet_place_load(p);
		assert_true(++moves < 10000);
		i = 0;
	}
	return moves;
}

// The load of a, in relation to its weight, is at most that of b with another group.
static bool is_even(const struct fleet_place *p, unsigned int a, unsigned int b, uint64_t group)
{
	return p->member[a].load * p->member[b].weight <=
	       (p->member[b].load + group) * p->member[a].weight;
}

static void check_even(const struct fleet_place *p)
{
	for (unsigned int g = 0; g < p->n_groups; g++)
		for (unsigned int m = 0; m < p->n_members; m++)
			assert_true(is_even(p, p->group[g].owner, m, p->group[g].weight));
}

static void loads_become_even(void **state)
{
	struct fleet_place p;

	(void)state;
	for (unsigned int i = 0; i < FLEETS; i++) {
		fleet_make(&p, i % 2 == 0);
		for (unsigned int g = 0; g < p.n_groups; g++)
			p.group[g].owner = below(p.n_members);
		fleet_place_load(&p);
		all_are_moved(&p);
		check_even(&p);
	}
}

// Equal ones are so from the start.
static void free_groups_are_divided(void **state)
{
	struct fleet_place p;

	(void)state;
	for (unsigned int i = 0; i < FLEETS; i++) {
		fleet_make(&p, false);
		assert_int_equal(free_are_taken(&p), p.n_groups);
		check_even(&p);
		assert_int_equal(all_are_moved(&p), 0);
	}
}

// Only the groups of a member that fails move, and these are divided evenly.
static void one_fails(void **state)
{
	struct fleet_place p, before;
	unsigned int gone;

	(void)state;
	for (unsigned int i = 0; i < FLEETS; i++) {
		fleet_make(&p, false);
		if (p.n_members == 1)
			continue;
		free_are_taken(&p);
		before = p;
		gone = below(p.n_members);
		p.member[gone].takes = false;
		for (unsigned int g = 0; g < p.n_groups; g++)
			if (p.group[g].owner == gone)
				p.group[g].owner = FLEET_NONE;
		free_are_taken(&p);
		assert_int_equal(p.member[gone].load, 0);
		for (unsigned int g = 0; g < p.n_groups; g++)
			if (before.group[g].owner != gone)
				assert_int_equal(p.group[g].owner, before.group[g].owner);
		assert_int_equal(all_are_moved(&p), 0);
	}
}

// No more groups move than it gets.
static void one_joins(void **state)
{
	struct fleet_place p;
	unsigned int moves, joins;

	(void)state;
	for (unsigned int i = 0; i < FLEETS; i++) {
		fleet_make(&p, false);
		for (unsigned int m = 0; m < p.n_members; m++)
			p.member[m].weight = 1 + below(1000);
		joins = below(p.n_members);
		p.member[joins].takes = p.n_members == 1;
		free_are_taken(&p);
		all_are_moved(&p);
		p.member[joins].takes = true;
		moves = all_are_moved(&p);
		assert_int_equal(moves, p.n_members == 1 ? 0 : p.member[joins].load);
		check_even(&p);
	}
}

static void check_pinned(const struct fleet_place *p)
{
	for (unsigned int g = 0; g < p->n_groups; g++)
		for (unsigned int k = 0; k < p->group[g].n_pins; k++)
			if (p->member[p->group[g].pin[k]].takes) {
				assert_int_equal(p->group[g].owner, p->group[g].pin[k]);
				break;
			}
}

// From the start, and after other members had them.
static void pins_are_kept(void **state)
{
	struct fleet_place p;

	(void)state;
	for (unsigned int i = 0; i < FLEETS; i++) {
		fleet_make(&p, true);
		pins_make(&p);
		for (unsigned int m = 1; m < p.n_members; m++)
			p.member[m].takes = below(4) != 0;
		free_are_taken(&p);
		check_pinned(&p);
		for (unsigned int g = 0; g < p.n_groups; g++)
			p.group[g].owner = below(p.n_members);
		fleet_place_load(&p);
		all_are_moved(&p);
		check_pinned(&p);
	}
}

static void a_group_that_stays_is_not_moved(void **state)
{
	struct fleet_place p = {.n_members = 2, .n_groups = 2};
	unsigned int group, to;

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		p.member[i] = (struct fleet_place_member){.weight = 1, .takes = true};
		p.group[i] = (struct fleet_place_group){.weight = 1, .stays = i == 0};
	}
	fleet_place_load(&p);
	assert_true(fleet_place_move(&p, 0, &group, &to));
	assert_int_equal(group, 1);
	assert_int_equal(to, 1);
	p.group[1].stays = true;
	assert_false(fleet_place_move(&p, 0, &group, &to));
}

// Two members that join one with all groups get the same share, though each group moves once.
static void two_join(void **state)
{
	struct fleet_place p = {.n_members = 3, .n_groups = 6};
	unsigned int group, to;

	(void)state;
	for (unsigned int i = 0; i < p.n_members; i++)
		p.member[i] = (struct fleet_place_member){.weight = 100, .takes = true};
	for (unsigned int i = 0; i < p.n_groups; i++)
		p.group[i] = (struct fleet_place_group){.weight = 1};
	fleet_place_load(&p);
	while (fleet_place_move(&p, 0, &group, &to)) {
		p.group[group].owner = to;
		p.group[group].stays = true;
		fleet_place_load(&p);
	}
	for (unsigned int i = 0; i < p.n_members; i++)
		assert_int_equal(p.member[i].load, 2);
}

// Each group of a member that drains has another one, and none comes to it.
static void one_drains(void **state)
{
	struct fleet_place p;
	unsigned int drains, next, rank[CONF_GROUPS_MAX];

	(void)state;
	for (unsigned int i = 0; i < FLEETS; i++) {
		fleet_make(&p, true);
		free_are_taken(&p);
		drains = below(p.n_members);
		p.member[drains].takes = false;
		for (unsigned int g = 0; g < p.n_groups; g++) {
			if (p.group[g].owner != drains)
				continue;
			next = fleet_place_next(&p, g);
			assert_true(p.n_members == 1 ? next == FLEET_NONE : next != drains);
			p.group[g].owner = next;
			fleet_place_rank(&p, drains, rank);
			assert_int_equal(rank[g], FLEET_NONE);
			fleet_place_load(&p);
		}
	}
}

// It was not ready a moment ago. The group does not go to another one meanwhile, where it would
// stay.
static void a_group_waits_for_its_pin(void **state)
{
	unsigned int group, to;
	struct fleet_place p = {.n_members = 3,
		.n_groups = 1,
		.member = {{.weight = 1, .takes = true}, {.weight = 1, .takes = true},
			{.weight = 1, .takes = true}},
		.group = {{.weight = 1, .owner = 0, .pin = {1, 2}, .n_pins = 2}}};

	(void)state;
	fleet_place_load(&p);
	assert_true(fleet_place_move(&p, 0, &group, &to));
	assert_int_equal(to, 1);
	p.member[1].shunned = true;
	assert_false(fleet_place_move(&p, 0, &group, &to));
	assert_int_equal(fleet_place_next(&p, 0), 2); // if it must leave
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loads_become_even),
		cmocka_unit_test(free_groups_are_divided),
		cmocka_unit_test(one_fails),
		cmocka_unit_test(one_joins),
		cmocka_unit_test(pins_are_kept),
		cmocka_unit_test(a_group_that_stays_is_not_moved),
		cmocka_unit_test(two_join),
		cmocka_unit_test(one_drains),
		cmocka_unit_test(a_group_waits_for_its_pin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
