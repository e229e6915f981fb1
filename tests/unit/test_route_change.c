// SPDX-License-Identifier: BSD-3-Clause
// Owners of routes, plans for the routes of a configuration, and a table that is full.
#include "small_table.h"

static void test_first_owner_wins(void **state)
{
	(void)state;
	put("10.0.0.0/8", ROUTE_KERNEL, 3);
	assert_int_equal(iface_to("10.1.2.3"), 3);
	put("10.0.0.0/8", ROUTE_KERNEL, 3);
	assert_int_equal(route_table_removed(t).routes, 0); // it was the same
	put("10.0.0.0/8", ROUTE_NETWORK, 1);
	put("10.0.0.0/8", ROUTE_FILE, 2);
	assert_int_equal(iface_to("10.1.2.3"), 1);
	put("10.0.0.0/8", ROUTE_KERNEL, 4); // is replaced while it waits
	put("10.1.0.0/16", ROUTE_KERNEL, 5);
	assert_int_equal(iface_to("10.1.2.3"), 5);
	assert_int_equal(iface_to("10.2.2.3"), 1);
	put("10.0.0.0/8", ROUTE_OWN, 0);
	assert_int_equal(iface_to("10.2.2.3"), 0);
	assert_int_equal(route_count(t), 5);
	delete ("10.0.0.0/8", ROUTE_NETWORK);
	assert_int_equal(iface_to("10.2.2.3"), 0);
	delete ("10.0.0.0/8", ROUTE_OWN);
	assert_int_equal(iface_to("10.2.2.3"), 2);
	delete ("10.0.0.0/8", ROUTE_FILE);
	assert_int_equal(iface_to("10.2.2.3"), 4);
	delete ("10.0.0.0/8", ROUTE_KERNEL);
	assert_int_equal(iface_to("10.2.2.3"), -1);
	assert_int_equal(iface_to("10.1.2.3"), 5);
}

static void test_used(void **state)
{
	(void)state;
	put("10.0.0.0/8", ROUTE_KERNEL, 3);
	assert_ptr_equal(route_used(t, route_at(t, 0)), route_at(t, 0));
	put("10.0.0.0/8", ROUTE_FILE, 2);
	assert_ptr_equal(route_used(t, route_at(t, 0)), route_at(t, 1));
	assert_ptr_equal(route_used(t, route_at(t, 1)), route_at(t, 1));
}

static void test_bits_after_the_prefix(void **state)
{
	struct route r = route_to("10.0.0.0/8", ROUTE_KERNEL, 0);

	(void)state;
	r.to.addr.b[15] = 1;
	assert_int_equal(route_put(t, &r), -EINVAL);
	assert_int_equal(route_count(t), 0);
}

static void test_plan_is_a_difference(void **state)
{
	const struct route first[] = {route_to("10.0.0.0/8", ROUTE_FILE, 1),
		route_to("10.1.0.0/16", ROUTE_FILE, 2), route_to("10.2.0.0/16", ROUTE_FILE, 3)};
	// the second is deleted, the third changes, the first stays, although it is there twice
	const struct route next[] = {route_to("10.0.0.0/8", ROUTE_FILE, 9),
		route_to("10.2.0.0/16", ROUTE_FILE, 4), route_to("10.3.0.0/16", ROUTE_FILE, 5),
		route_to("10.0.0.0/8", ROUTE_FILE, 1)};
	const struct ip_addr a = addr_of("10.9.9.9");
	const struct nexthop *kept;

	(void)state;
	put("10.1.0.0/16", ROUTE_KERNEL, 7);
	assert_int_equal(route_plan(t, first, COUNT_OF(first)), 0);
	assert_int_equal(iface_to("10.2.0.1"), -1);
	route_plan_begin(t);
	route_plan_end(t);
	assert_int_equal(iface_to("10.1.0.1"), 2);
	assert_int_equal(iface_to("10.2.0.1"), 3);
	kept = route_find(t, &a);

	assert_int_equal(route_plan(t, next, COUNT_OF(next)), 0);
	route_plan_drop(t);
	assert_int_equal(iface_to("10.1.0.1"), 2);
	assert_int_equal(route_plan(t, next, COUNT_OF(next)), 0);
	route_plan_begin(t);
	route_plan_end(t);
	assert_ptr_equal(route_find(t, &a), kept);
	assert_int_equal(iface_to("10.1.0.1"), 7);
	assert_int_equal(iface_to("10.2.0.1"), 4);
	assert_int_equal(iface_to("10.3.0.1"), 5);
	assert_int_equal(route_count(t), 4);
}

// A plan adds routes into a tunnel first, and those in clear with the deletions.
static void test_plan_is_never_in_clear(void **state)
{
	struct route clear = route_to("10.0.0.0/8", ROUTE_FILE, 1);
	struct route tunnel = route_to("10.1.0.0/16", ROUTE_FILE, 2);

	(void)state;
	tunnel.nexthop.kind = NEXTHOP_TUNNEL;
	assert_int_equal(route_plan(t, &tunnel, 1), 0);
	route_plan_begin(t);
	assert_int_equal(iface_to("10.1.0.1"), 2);
	route_plan_end(t);
	assert_int_equal(route_plan(t, &clear, 1), 0);
	route_plan_begin(t);
	assert_int_equal(iface_to("10.1.0.1"), 2);
	assert_int_equal(iface_to("10.2.0.1"), -1);
	route_plan_end(t);
	assert_int_equal(iface_to("10.1.0.1"), 1);
}

static void test_outer(void **state)
{
	const struct route next = route_to("192.0.2.0/24", ROUTE_FILE, 2);
	const struct ip_addr peer = addr_of("192.0.2.7"), own = addr_of("198.51.100.1");
	struct route r = route_to("192.0.2.7/32", ROUTE_KERNEL, 9);

	(void)state;
	put("192.0.2.0/25", ROUTE_FILE, 1);
	r.nexthop.kind = NEXTHOP_TUNNEL;
	assert_int_equal(route_put(t, &r), 0);
	assert_int_equal(iface_to("192.0.2.7"), 9);
	assert_int_equal(route_find_outer(t, &own, &peer)->iface, 1);
	r = route_to("192.0.2.0/25", ROUTE_FILE, 3);
	r.from = own;
	assert_int_equal(route_put(t, &r), 0);
	assert_int_equal(route_find_outer(t, &own, &peer)->iface, 3);
	assert_int_equal(route_find_outer(t, &peer, &peer)->iface, 1);
	assert_int_equal(route_plan(t, &next, 1), 0); // counts already
	r = route_to("192.0.2.0/26", ROUTE_KERNEL, 4);
	assert_int_equal(route_put(t, &r), 0);
	assert_int_equal(route_find_outer(t, &own, &peer)->iface, 4);
	delete ("192.0.2.0/26", ROUTE_KERNEL);
	route_plan_drop(t);
	assert_int_equal(route_find_outer(t, &own, &peer)->iface, 3);
}

// A route of the kernel to a network of IPv6 that has the octet.
static struct route numbered(uint8_t len, unsigned int octet, unsigned int i)
{
	struct route r = {.owner = ROUTE_KERNEL, .to = prefix_of(addr_of("2001:db8::"), len)};

	r.to.addr.b[octet] = (uint8_t)i;
	return r;
}

// Puts such routes until the table is full. Returns how many.
static unsigned int fill(uint8_t len, unsigned int octet)
{
	unsigned int n = 0;
	int rc = 0;

	while (rc == 0) {
		const struct route r = numbered(len, octet, n);

		rc = route_put(t, &r);
		n += rc == 0;
	}
	assert_int_equal(rc, -ENOSPC);
	return n;
}

static void test_full_of_nodes(void **state)
{
	unsigned int n = fill(128, 6), left = slab_unused(&t->nodes[V6].slab);
	const struct route more = numbered(128, 6, 100);
	const struct route file[] = {
		route_to("fd00::/80", ROUTE_FILE, 1), route_to("fd01::/128", ROUTE_FILE, 2)};

	(void)state;
	assert_in_range(n, 1, ROUTES_MAX / 2);
	assert_in_range(left, KEPT(NODES_MAX), KEPT(NODES_MAX) + 9);
	for (unsigned int i = 0; i < 10 * ENTRIES_MAX; i++) // which uses nothing
		assert_int_equal(route_put(t, &more), -ENOSPC);
	assert_int_equal(slab_unused(&t->nodes[V6].slab), left);
	put("10.0.0.0/8", ROUTE_KERNEL, 3); // the other family has its own
	put("10.1.0.0/24", ROUTE_KERNEL, 4);
	assert_int_equal(iface_to("10.1.0.1"), 4);
	// A part is kept for the configuration; a plan that does not fit changes nothing.
	assert_int_equal(route_plan(t, file, 2), -ENOSPC);
	route_table_release(t, route_table_removed(t));
	assert_int_equal(route_plan(t, file, 1), 0);
	route_plan_begin(t);
	route_plan_end(t);
	assert_int_equal(route_plan(t, file, 2), -ENOSPC);
	assert_int_equal(iface_to("fd00::1"), 1);
	assert_int_equal(iface_to("fd01::"), -1);
	assert_int_equal(route_count(t), n + 3);
	route_table_release(t, route_table_removed(t));
	assert_int_equal(slab_unused(&t->nodes[V6].slab), left - 8);
}

// Replaces routes until no more may be removed before those are released. Returns how many.
static unsigned int replace_all(void)
{
	unsigned int n = 0;
	int rc = 0;

	while (rc == 0) {
		struct route r = *route_at(t, n % route_count(t));

		r.nexthop.iface++;
		rc = route_put(t, &r);
		n += rc == 0;
	}
	assert_int_equal(rc, -ENOSPC);
	return n;
}

static void test_full_of_routes(void **state)
{
	unsigned int n = fill(64, 7);
	struct route r;

	(void)state;
	assert_int_equal(n, ROUTES_MAX - KEPT(ROUTES_MAX));
	assert_int_equal(replace_all(), ENTRIES_MAX - KEPT(ROUTES_MAX) - n);
	put("10.0.0.0/8", ROUTE_FILE, 1);
	r = *route_at(t, 0);
	assert_int_equal(route_delete(t, &r.to, &r.from, ROUTE_KERNEL), 0);
	assert_int_equal(route_put(t, &r), -ENOSPC); // still one too many, with that of the file
	r = *route_at(t, 1);
	assert_int_equal(route_delete(t, &r.to, &r.from, ROUTE_KERNEL), 0);
	route_table_release(t, route_table_removed(t));
	assert_int_equal(route_put(t, &r), 0);
}

// However many routes of the kernel are replaced, the configuration can be.
static void test_full_of_removed(void **state)
{
	struct route file[KEPT(ROUTES_MAX)];

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(file); i++) {
		file[i] = route_to("10.0.0.0/16", ROUTE_FILE, 1);
		file[i].to.addr.b[13] = (uint8_t)i;
	}
	fill(64, 7);
	replace_all();
	assert_int_equal(route_plan(t, file, COUNT_OF(file)), 0);
	route_plan_begin(t);
	route_plan_end(t);
	assert_int_equal(iface_to("10.1.0.1"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		change_test(test_first_owner_wins),
		change_test(test_used),
		change_test(test_bits_after_the_prefix),
		change_test(test_plan_is_a_difference),
		change_test(test_plan_is_never_in_clear),
		change_test(test_outer),
		change_test(test_full_of_nodes),
		change_test(test_full_of_routes),
		change_test(test_full_of_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
