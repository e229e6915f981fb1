// SPDX-License-Identifier: BSD-3-Clause
// Groups of next hops. Proves that equal sets are one group, that flows are shared by the weights,
// and that a flow moves only if its hop is down or has left.
#include "hop_group.h"

#include <errno.h>
#include <stdlib.h>

#include "addrs.h"
#include "route_change.h"
#include "test.h"

#define FLOWS 10000

static struct hop hop(unsigned int number, uint32_t weight)
{
	struct hop h = {.nexthop = {.kind = NEXTHOP_GATEWAY, .iface = 1}, .weight = weight};

	h.nexthop.gateway = addr_of("2001:db8::");
	h.nexthop.gateway.b[15] = (uint8_t)number;
	return h;
}

static unsigned int number_of(const struct hop *h)
{
	return h->nexthop.gateway.b[15];
}

// A bit for each hop that is up.
static bool is_up(const void *up, const struct nexthop *nh)
{
	return (*(const unsigned int *)up >> nh->gateway.b[15] & 1) != 0;
}

static struct hop_group *group(struct hop_groups *groups, unsigned int n, const uint32_t weight[])
{
	struct hop hops[HOPS_MAX];
	struct hop_group *g;

	for (unsigned int i = 0; i < n; i++)
		hops[i] = hop(i, weight[i]);
	g = hop_group_take(groups, hops, n);
	assert_non_null(g);
	return g;
}

static void test_equal_sets(void **state)
{
	const struct hop a[] = {hop(0, 1), hop(1, 2), hop(2, 1)},
			 b[] = {hop(2, 1), hop(1, 1), hop(0, 1), hop(1, 1)},
			 c[] = {hop(0, 1), hop(1, 1), hop(2, 1)}, one[] = {hop(0, 1), hop(0, 2)};
	struct hop_groups groups = {0};
	struct hop_group *g = hop_group_take(&groups, a, COUNT_OF(a));
	struct hop_group *other = hop_group_take(&groups, c, COUNT_OF(c));
	static struct hop many[HOPS_MAX + 1];

	(void)state;
	assert_ptr_equal(hop_group_take(&groups, b, COUNT_OF(b)), g);
	assert_ptr_not_equal(other, g);
	assert_int_equal(g->users, 2);
	assert_null(hop_group_take(&groups, one, COUNT_OF(one)));
	assert_int_equal(errno, EINVAL);
	for (unsigned int i = 0; i < COUNT_OF(many); i++)
		many[i] = hop(i, 1);
	assert_null(hop_group_take(&groups, many, COUNT_OF(many)));
	hop_group_release(&groups, other);
	hop_group_release(&groups, g);
	assert_ptr_equal(groups.first, g);
	hop_group_release(&groups, g);
	assert_null(groups.first);
}

static void test_weights(void **state)
{
	static const struct {
		unsigned int n;
		uint32_t weight[4];
	} rows[] = {{2, {1, 1}}, {2, {3, 1}}, {3, {1, 2, 1}}, {4, {1, 1, 1, 1}}, {2, {256, 128}}};
	const unsigned int up = UINT32_MAX;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct hop_groups groups = {0};
		struct hop_group *g = group(&groups, rows[i].n, rows[i].weight);
		unsigned int found[4] = {0}, sum = 0;

		for (uint32_t flow = 0; flow < FLOWS; flow++)
			found[number_of(hop_choose(g, flow, NULL, is_up, &up))]++;
		for (unsigned int k = 0; k < rows[i].n; k++)
			sum += rows[i].weight[k];
		for (unsigned int k = 0; k < rows[i].n; k++) {
			unsigned int right = FLOWS * rows[i].weight[k] / sum;

			assert_in_range(found[k], right - right / 20, right + right / 20);
		}
		hop_group_release(&groups, g);
	}
}

// A hop goes down and comes back.
static void test_flows_stay(void **state)
{
	static const uint32_t weight[] = {1, 2, 1};
	const unsigned int all = 7, less = 5;
	struct hop_groups groups = {0};
	struct hop_group *g = group(&groups, COUNT_OF(weight), weight);

	(void)state;
	for (uint32_t flow = 0; flow < FLOWS; flow++) {
		const struct hop *first = hop_choose(g, flow, NULL, is_up, &all);
		const struct hop *then = hop_choose(g, flow, &first->nexthop, is_up, &less);

		if (number_of(first) == 1)
			assert_int_not_equal(number_of(then), 1);
		else
			assert_ptr_equal(then, first);
		assert_ptr_equal(hop_choose(g, flow, &then->nexthop, is_up, &all), then);
	}
	hop_group_release(&groups, g);
}

// A new hop takes flows from the others, which exchange none; a flow that is known stays.
static void test_hop_is_added(void **state)
{
	static const uint32_t weight[] = {1, 1, 1};
	const unsigned int up = UINT32_MAX;
	struct hop_groups groups = {0};
	struct hop_group *two = group(&groups, 2, weight), *three = group(&groups, 3, weight);

	(void)state;
	for (uint32_t flow = 0; flow < FLOWS; flow++) {
		const struct hop *first = hop_choose(two, flow, NULL, is_up, &up);
		const struct hop *now = hop_choose(three, flow, NULL, is_up, &up);

		if (number_of(now) != 2)
			assert_int_equal(number_of(now), number_of(first));
		now = hop_choose(three, flow, &first->nexthop, is_up, &up);
		assert_int_equal(number_of(now), number_of(first));
	}
	hop_group_release(&groups, two);
	hop_group_release(&groups, three);
}

static void test_all_down(void **state)
{
	static const uint32_t weight[] = {1, 1};
	const unsigned int all = 3, none = 0;
	struct hop_groups groups = {0};
	struct hop_group *g = group(&groups, 2, weight);

	(void)state;
	for (uint32_t flow = 0; flow < 100; flow++)
		assert_ptr_equal(hop_choose(g, flow, NULL, is_up, &none),
			hop_choose(g, flow, NULL, is_up, &all));
	hop_group_release(&groups, g);
}

static void release(struct route_table *t)
{
	route_table_release(t, route_table_removed(t));
}

// Each route is a user of its group, until it is released; so is one that is planned.
static void test_users_in_a_table(void **state)
{
	static const uint32_t weight[] = {1, 1};
	const struct ip_addr any = {0};
	struct route_table *t = route_table_new();
	struct hop_groups *groups = route_table_groups(t);
	struct hop_group *g = group(groups, 2, weight);
	struct route r[] = {{.to = net_of("10.1.0.0/16"), .owner = ROUTE_KERNEL},
		{.to = net_of("10.2.0.0/16"), .owner = ROUTE_FILE}};
	struct hop one = hop(0, 1);

	(void)state;
	r[0].nexthop = r[1].nexthop = nexthop_of_group(g);
	assert_int_equal(route_put(t, &r[0]), 0);
	assert_int_equal(route_put(t, &r[0]), 0);
	assert_int_equal(g->users, 2);
	assert_int_equal(route_plan(t, &r[1], 1), 0);
	assert_int_equal(g->users, 3);
	route_plan_drop(t);
	assert_int_equal(g->users, 2);
	assert_int_equal(route_plan(t, &r[1], 1), 0);
	route_plan_begin(t);
	route_plan_end(t);
	assert_int_equal(g->users, 3);
	r[0].nexthop = one.nexthop;
	assert_int_equal(route_put(t, &r[0]), 0);
	assert_int_equal(g->users, 3); // a worker may still use the former route
	release(t);
	assert_int_equal(g->users, 2);
	assert_int_equal(route_delete(t, &r[1].to, &any, ROUTE_FILE), 0);
	release(t);
	hop_group_release(groups, g);
	assert_null(groups->first);
	r[0].nexthop = nexthop_of_group(group(groups, 2, weight));
	assert_int_equal(route_put(t, &r[0]), 0);
	route_table_free(t); // with its groups
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_sets),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_flows_stay),
		cmocka_unit_test(test_hop_is_added),
		cmocka_unit_test(test_all_down),
		cmocka_unit_test(test_users_in_a_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
