// SPDX-License-Identifier: BSD-3-Clause
// Routes and nodes that readers remember: they are not used again before the readers forget, which
// they have to when too many wait.
#include "small_table.h"

// A reader remembers the route to an address.
static void remember(const char *dst)
{
	const struct ip_addr to = addr_of(dst), from = addr_of("10.9.9.9");

	assert_int_not_equal(route_remember(t, &from, &to, route_find(t, &to)), 0);
}

static void release(void)
{
	route_table_release(t, route_table_removed(t));
}

// A route of the kernel by another interface than before, which takes another number.
static void replace(const char *to)
{
	static uint16_t iface;

	put(to, ROUTE_KERNEL, ++iface);
}

static uint32_t numbers_unused(void)
{
	return slab_unused(&t->entries);
}

static void test_not_remembered(void **state)
{
	uint32_t unused;

	(void)state;
	replace("10.1.0.0/16");
	unused = numbers_unused();
	for (unsigned int i = 0; i < 10 * ENTRIES_MAX; i++) {
		replace("10.1.0.0/16");
		release();
	}
	assert_int_equal(numbers_unused(), unused);
	assert_false(route_table_must_forget(t));
}

static void test_too_many_routes(void **state)
{
	unsigned int n = 0;
	uint32_t unused;

	(void)state;
	replace("10.1.0.0/16");
	unused = numbers_unused();
	for (; !route_table_must_forget(t); n++) {
		remember("10.1.0.1");
		replace("10.1.0.0/16");
		release();
		assert_int_equal(numbers_unused(), unused - n - 1);
	}
	assert_int_equal(n, ENTRIES_MAX / 16 + 1);
	route_table_forget(t); // before another generation of flows
	assert_false(route_table_must_forget(t));
	assert_int_equal(numbers_unused(), unused - n);
	release(); // a grace period later
	assert_int_equal(numbers_unused(), unused);
}

static void test_too_many_nodes(void **state)
{
	uint32_t unused = slab_unused(&t->nodes[V4].slab);
	unsigned int n = 0;

	(void)state;
	for (; !route_table_must_forget(t); n++) {
		put("10.1.1.1/32", ROUTE_KERNEL, 1);
		remember("10.1.1.1");
		delete ("10.1.1.1/32", ROUTE_KERNEL);
		release();
		assert_int_equal(iface_to("10.1.1.1"), -1);
		assert_int_equal(slab_unused(&t->nodes[V4].slab),
			unused - n - 1); // not the first one of two
	}
	assert_int_equal(n, NODES_MAX / 32 + 1);
	route_table_forget(t);
	release();
	assert_int_equal(slab_unused(&t->nodes[V4].slab), unused);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		change_test(test_not_remembered),
		change_test(test_too_many_routes),
		change_test(test_too_many_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
