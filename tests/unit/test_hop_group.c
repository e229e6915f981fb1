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

static struct nexthop take(struct hop_groups *groups, const struct hop hops[], unsigned int n)
{
	struct nexthop nh;

	assert_int_equal(nexthop_take(&nh, groups, hops, n), 0);
	return nh;
}

static struct nexthop several(struct hop_groups *groups, unsigned int n, const uint32_t weight[])
{
	struct hop hops[HOPS_MAX];

	for (unsigned int i = 0; i < n; i++)
		hops[i] = hop(i, weight[i]);
	return take(groups, hops, n);
}

static bool has_any(const struct hop_groups *groups)
{
	for (unsigned int i = 0; i < HOP_GROUP_BUCKETS; i++)
		if (groups->bucket[i] != NULL)
			return true;
	return false;
}

static void test_equal_sets(void **state)
{
	const struct hop a[] = {hop(0, 1), hop(1, 2), hop(2, 1)},
			 b[] = {hop(2, 1), hop(1, 1), hop(0, 1), hop(1, 1)},
			 c[] = {hop(0, 1), hop(1, 1), hop(2, 1)}, one[] = {hop(0, 1), hop(0, 2)};
	static struct hop_groups groups;
	struct nexthop x = take(&groups, a, COUNT_OF(a)), y = take(&groups, b, COUNT_OF(b));
	struct nexthop z = take(&groups, c, COUNT_OF(c)),
		       single = take(&groups, one, COUNT_OF(one));
	static struct hop many[HOPS_MAX + 1];

	(void)state;
	assert_true(nexthop_equal(&x, &y));
	assert_false(nexthop_equal(&x, &z));
	assert_int_equal(nexthop_group(&x)->users, 2);
	assert_int_equal(nexthop_group(&x)->n, 3);
	assert_true(nexthop_equal(&single, &one[0].nexthop));
	for (unsigned int i = 0; i < COUNT_OF(many); i++)
		many[i] = hop(i, 1);
	assert_int_equal(nexthop_take(&single, &groups, many, COUNT_OF(many)), -EINVAL);
	assert_int_equal(nexthop_take(&single, &groups, many, 0), -EINVAL);
	nexthop_release(&single, &groups);
	nexthop_release(&z, &groups);
	nexthop_release(&x, &groups);
	assert_true(has_any(&groups));
	nexthop_release(&y, &groups);
	assert_false(has_any(&groups));
}

// Each has its place, by which flows find it.
static void test_places(void **state)
{
	static const uint32_t weight[] = {1, 1, 1};
	static struct hop_groups groups;
	struct nexthop nh = several(&groups, 3, weight), one = hop(0, 1).nexthop;

	(void)state;
	assert_int_equal(nexthop_first_place(&nh), 1);
	for (unsigned int i = 1; i <= 3; i++)
		assert_int_equal(nexthop_hop(&nh, i)->hop, i);
	assert_null(nexthop_hop(&nh, 4));
	assert_int_equal(nexthop_first_place(&one), 0);
	assert_ptr_equal(nexthop_hop(&one, 0), &one);
	assert_null(nexthop_hop(&one, 1));
	nexthop_release(&nh, &groups);
}

// Flows that an exact division would give to another hop: at most one in twenty.
static void test_weights(void **state)
{
	static const struct {
		unsigned int n;
		uint32_t weight[16];
	} rows[] = {{2, {1, 1}}, {2, {1, 3}}, {3, {1, 2, 1}}, {2, {256, 128}},
		{16, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
		{16, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}}};
	const unsigned int up = UINT32_MAX;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		static struct hop_groups groups;
		struct nexthop nh = several(&groups, rows[i].n, rows[i].weight);
		unsigned int found[16] = {0}, sum = 0, others = 0;

		for (uint32_t flow = 0; flow < FLOWS; flow++)
			found[number_of(hop_choose(nexthop_group(&nh), flow, NULL, is_up, &up))]++;
		for (unsigned int k = 0; k < rows[i].n; k++)
			sum += rows[i].weight[k];
		for (unsigned int k = 0; k < rows[i].n; k++) {
			unsigned int right = FLOWS * rows[i].weight[k] / sum;

			others += found[k] > right ? found[k] - right : 0;
		}
		assert_in_range(others, 0, FLOWS / 20);
		nexthop_release(&nh, &groups);
	}
}

// A hop goes down and comes back.
static void test_flows_stay(void **state)
{
	static const uint32_t weight[] = {1, 2, 1};
	const unsigned int all = 7, less = 5;
	static struct hop_groups groups;
	struct nexthop nh = several(&groups, COUNT_OF(weight), weight);
	const struct hop_group *g = nexthop_group(&nh);

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
	nexthop_release(&nh, &groups);
}

// A new hop takes flows from the others, which exchange none; a flow that is known stays.
static void test_hop_is_added(void **state)
{
	static const uint32_t weight[] = {1, 1, 1};
	const unsigned int up = UINT32_MAX;
	static struct hop_groups groups;
	struct nexthop nh[] = {several(&groups, 2, weight), several(&groups, 3, weight)};
	const struct hop_group *two = nexthop_group(&nh[0]), *three = nexthop_group(&nh[1]);

	(void)state;
	for (uint32_t flow = 0; flow < FLOWS; flow++) {
		const struct hop *first = hop_choose(two, flow, NULL, is_up, &up);
		const struct hop *now = hop_choose(three, flow, NULL, is_up, &up);

		if (number_of(now) != 2)
			assert_int_equal(number_of(now), number_of(first));
		now = hop_choose(three, flow, &first->nexthop, is_up, &up);
		assert_int_equal(number_of(now), number_of(first));
	}
	nexthop_release(&nh[0], &groups);
	nexthop_release(&nh[1], &groups);
}

// Then flows do not move either, so that they are where they were when the hops return.
static void test_all_down(void **state)
{
	static const uint32_t weight[] = {1, 1};
	const unsigned int all = 3, none = 0;
	static struct hop_groups groups;
	struct nexthop nh = several(&groups, 2, weight);
	const struct hop_group *g = nexthop_group(&nh);

	(void)state;
	for (uint32_t flow = 0; flow < 100; flow++) {
		assert_ptr_equal(hop_choose(g, flow, NULL, is_up, &none),
			hop_choose(g, flow, NULL, is_up, &all));
		for (unsigned int i = 0; i < 2; i++)
			assert_ptr_equal(
				hop_choose(g, flow, &g->hop[i].nexthop, is_up, &none), &g->hop[i]);
	}
	nexthop_release(&nh, &groups);
}

static void release(struct route_table *t)
{
	route_table_release(t, route_table_removed(t));
}

static unsigned int users(const struct nexthop *nh)
{
	return nexthop_group(nh)->users;
}

// Each route is a user of its group, until it is released; so is one that is planned.
static void test_users_in_a_table(void **state)
{
	static const uint32_t weight[] = {1, 1};
	const struct ip_addr any = {0};
	struct route_table *t = route_table_new();
	struct hop_groups *groups = route_table_groups(t);
	const struct nexthop nh = several(groups, 2, weight);
	struct route r[] = {{.to = net_of("10.1.0.0/16"), .nexthop = nh, .owner = ROUTE_KERNEL},
		{.to = net_of("10.2.0.0/16"), .nexthop = nh, .owner = ROUTE_FILE}};

	(void)state;
	assert_int_equal(route_put(t, &r[0]), 0);
	assert_int_equal(route_put(t, &r[0]), 0);
	assert_int_equal(users(&nh), 2);
	assert_int_equal(route_plan(t, &r[1], 1), 0);
	assert_int_equal(users(&nh), 3);
	route_plan_drop(t);
	assert_int_equal(users(&nh), 2);
	assert_int_equal(route_plan(t, &r[1], 1), 0);
	route_plan_begin(t);
	route_plan_end(t);
	assert_int_equal(users(&nh), 3);
	r[0].nexthop = hop(0, 1).nexthop;
	assert_int_equal(route_put(t, &r[0]), 0);
	assert_int_equal(users(&nh), 3); // a worker may still use the former route
	release(t);
	assert_int_equal(users(&nh), 2);
	assert_int_equal(route_delete(t, &r[1].to, &any, ROUTE_FILE), 0);
	release(t);
	nexthop_release(&nh, groups);
	assert_false(has_any(groups));
	r[0].nexthop = several(groups, 2, weight);
	assert_int_equal(route_put(t, &r[0]), 0);
	route_table_free(t); // with its groups
}

// A flow may find the group by the number of a route that it remembers, so the group stays until
// flows forget.
static void test_users_that_are_remembered(void **state)
{
	static const uint32_t weight[] = {1, 1};
	const struct ip_addr any = {0}, dst = addr_of("10.1.0.9"), src = addr_of("10.9.0.1");
	struct route_table *t = route_table_new();
	struct hop_groups *groups = route_table_groups(t);
	struct route r = {.to = net_of("10.1.0.0/16"),
		.nexthop = several(groups, 2, weight),
		.owner = ROUTE_KERNEL};
	const struct nexthop nh = r.nexthop;
	uint64_t found;

	(void)state;
	assert_int_equal(route_put(t, &r), 0);
	found = route_remember(t, &src, &dst, nexthop_hop(&nh, 2));
	assert_int_not_equal(found, 0);
	assert_ptr_equal(nexthop_hop(route_nexthop(route_slots(t), (uint32_t)found), 2),
		nexthop_hop(&nh, 2));
	r.nexthop = hop(0, 1).nexthop;
	assert_int_equal(route_put(t, &r), 0);
	assert_int_equal(route_remember(t, &src, &dst, nexthop_hop(&nh, 2)), 0);
	release(t);
	assert_int_equal(users(&nh), 2);
	route_table_forget(t);
	assert_int_equal(users(&nh), 2);
	release(t);
	assert_int_equal(users(&nh), 1);
	nexthop_release(&nh, groups);
	assert_int_equal(route_delete(t, &r.to, &any, ROUTE_KERNEL), 0);
	route_table_free(t);
}

// ESP goes into no tunnel, whichever of several.
static void test_no_tunnels_for_outer_packets(void **state)
{
	const struct ip_addr any = {0}, dst = addr_of("10.1.0.9");
	struct route_table *t = route_table_new();
	struct hop hops[] = {hop(0, 1), hop(1, 1)};
	struct route r[] = {{.to = net_of("10.1.0.0/16"), .owner = ROUTE_KERNEL},
		{.to = net_of("10.0.0.0/8"), .nexthop = hops[0].nexthop, .owner = ROUTE_KERNEL}};

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(hops); i++)
		hops[i].nexthop =
			(struct nexthop){.kind = NEXTHOP_TUNNEL, .iface = (uint16_t)(300 + i)};
	r[0].nexthop = take(route_table_groups(t), hops, COUNT_OF(hops));
	for (unsigned int i = 0; i < COUNT_OF(r); i++)
		assert_int_equal(route_put(t, &r[i]), 0);
	assert_int_equal(route_find(t, &dst)->kind, NEXTHOP_SEVERAL);
	assert_int_equal(route_find_outer(t, &any, &dst)->kind, NEXTHOP_GATEWAY);
	assert_true(nexthop_leads_into(&r[0].nexthop, 301));
	assert_false(nexthop_leads_into(&r[0].nexthop, 302));
	route_table_free(t);
}

// A plan begins with routes into tunnels, so that packets find no shorter route meanwhile.
static void test_plan_begins_with_tunnels(void **state)
{
	const struct ip_addr in = addr_of("10.1.0.9"), out = addr_of("10.2.0.9");
	struct route_table *t = route_table_new();
	struct hop hops[] = {hop(0, 1), hop(1, 1)}, tunnels[2] = {hop(0, 1), hop(1, 1)};
	struct route r[] = {{.to = net_of("10.1.0.0/16"), .owner = ROUTE_FILE},
		{.to = net_of("10.2.0.0/16"), .owner = ROUTE_FILE}};

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(tunnels); i++)
		tunnels[i].nexthop =
			(struct nexthop){.kind = NEXTHOP_TUNNEL, .iface = (uint16_t)(300 + i)};
	r[0].nexthop = take(route_table_groups(t), tunnels, COUNT_OF(tunnels));
	r[1].nexthop = take(route_table_groups(t), hops, COUNT_OF(hops));
	assert_int_equal(route_plan(t, r, COUNT_OF(r)), 0);
	route_plan_begin(t);
	assert_non_null(route_find(t, &in));
	assert_null(route_find(t, &out));
	route_plan_end(t);
	assert_non_null(route_find(t, &out));
	route_table_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_sets),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_flows_stay),
		cmocka_unit_test(test_hop_is_added),
		cmocka_unit_test(test_all_down),
		cmocka_unit_test(test_users_in_a_table),
		cmocka_unit_test(test_users_that_are_remembered),
		cmocka_unit_test(test_no_tunnels_for_outer_packets),
		cmocka_unit_test(test_plan_begins_with_tunnels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
