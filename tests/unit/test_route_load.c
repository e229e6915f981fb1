// SPDX-License-Identifier: BSD-3-Clause
// Large route tables: the same routes in librte_rib give the same answers, and memory is used only
// as far as there are routes.
#include <errno.h>

#include <rte_memory.h>
#include <rte_rib.h>
#include <rte_rib6.h>

#include "addrs.h"
#include "eal.h"
#include "route_change.h"
#include "route_set.h"
#include "test.h"

#define V4_ROUTES 1000000
#define V6_ROUTES 200000
#define LOOK_UPS  100000
#define LOADS     100
#define MB        ((size_t)1 << 20)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER true // which uses memory as well
#else
#define HAS_SANITIZER false
#endif

// Octets of memory that the process uses.
static size_t memory_used(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*s %lu", &pages), 1);
	fclose(f);
	return pages * 4096;
}

static void fill(struct route_table *t, enum ip_family family, unsigned int n)
{
	uint64_t seed = 11;

	while (route_count(t) < n) {
		const struct route r = route_of_set(&seed, family);

		assert_int_equal(route_put(t, &r), 0);
	}
}

static void check_memory(enum ip_family family, unsigned int n, size_t most)
{
	size_t before = memory_used(), used;
	struct route_table *t = route_table_new();

	assert_non_null(t);
	fill(t, family, n);
	used = memory_used() - before;
	print_message("%u routes of %s: %.2f MB\n", n, family == IP_V4 ? "IPv4" : "IPv6",
		(double)used / MB);
	route_table_free(t);
	assert_in_range(used, 0, most);
}

static void test_memory_of_few(void **state)
{
	(void)state;
	check_memory(IP_V4, 10, MB);
}

static void test_memory_of_many(void **state)
{
	(void)state;
	check_memory(IP_V4, V4_ROUTES, 200 * MB);
}

static void test_memory_of_many_ipv6(void **state)
{
	(void)state;
	check_memory(IP_V6, V6_ROUTES, 350 * MB);
}

// Routes are deleted from everywhere in the list, and the others stay in it.
static void test_list_of_many(void **state)
{
	struct route_table *t = route_table_new();
	uint64_t seed = 5;

	(void)state;
	assert_non_null(t);
	fill(t, IP_V4, V4_ROUTES);
	while (route_count(t) > 0) {
		const struct route *r = route_at(t, random_below(&seed, (uint32_t)route_count(t)));

		assert_int_equal(route_delete(t, &r->to, &r->from, ROUTE_OWN), 0);
	}
	route_table_free(t);
}

// A table that is filled and emptied again and again needs no more memory each time.
static void test_memory_is_given_back(void **state)
{
	struct route_table *t = route_table_new();
	size_t before = 0, left;

	(void)state;
	assert_non_null(t);
	for (unsigned int i = 0; i < LOADS; i++) {
		if (i == 2) // each family has been there once
			before = memory_used();
		fill(t, i % 2 == 0 ? IP_V4 : IP_V6, V6_ROUTES / 10);
		while (route_count(t) > 0) {
			const struct route *r = route_at(t, route_count(t) - 1);

			assert_int_equal(route_delete(t, &r->to, &r->from, ROUTE_OWN), 0);
		}
		route_table_release(t, route_table_removed(t));
	}
	left = memory_used();
	route_table_free(t);
	if (!HAS_SANITIZER) // which keeps freed memory, to notice uses of it
		assert_in_range(left, 0, before + MB);
}

// Of the same prefixes and next hops.
struct ribs {
	struct rte_rib *v4;
	struct rte_rib6 *v6;
};

static struct ribs ribs_of(const struct route_table *t)
{
	struct rte_rib_conf conf = {.max_nodes = (int)(2 * route_count(t))};
	struct rte_rib6_conf conf6 = {.max_nodes = (int)(2 * route_count(t))};
	struct ribs ribs = {rte_rib_create("oracle", SOCKET_ID_ANY, &conf),
		rte_rib6_create("oracle6", SOCKET_ID_ANY, &conf6)};

	assert_true(ribs.v4 != NULL && ribs.v6 != NULL);
	for (unsigned int i = 0; i < route_count(t); i++) {
		const struct ip_prefix *to = &route_at(t, i)->to;

		if (ip_addr_is_v4(&to->addr))
			rte_rib_set_nh(
				rte_rib_insert(ribs.v4, rte_be_to_cpu_32(ip_addr_v4(&to->addr)),
					(uint8_t)(to->len - IP_V4_BITS)),
				i);
		else
			rte_rib6_set_nh(
				rte_rib6_insert(ribs.v6, (const void *)to->addr.b, to->len), i);
	}
	return ribs;
}

// The answer of librte_rib: a route of the table, or NULL.
static const struct nexthop *oracle_find(
	const struct ribs *ribs, const struct route_table *t, const struct ip_addr *dst)
{
	struct rte_rib6_node *node6;
	struct rte_rib_node *node;
	uint64_t i;

	if (ip_addr_is_v4(dst)) {
		node = rte_rib_lookup(ribs->v4, rte_be_to_cpu_32(ip_addr_v4(dst)));
		if (node == NULL)
			return NULL;
		rte_rib_get_nh(node, &i);
	} else {
		node6 = rte_rib6_lookup(ribs->v6, (const void *)dst->b);
		if (node6 == NULL)
			return NULL;
		rte_rib6_get_nh(node6, &i);
	}
	return &route_at(t, (unsigned int)i)->nexthop;
}

static void check_oracle(const struct route_table *t, uint64_t *seed)
{
	const struct nexthop *right[ROUTE_FIND_MAX], *found[ROUTE_FIND_MAX];
	struct ip_addr addr[ROUTE_FIND_MAX];
	struct ribs ribs = ribs_of(t);
	unsigned int n = 0, batch = ROUTE_FIND_MAX;

	for (unsigned int i = 0; i < LOOK_UPS; i++) {
		const struct route *r = route_at(t, random_below(seed, (uint32_t)route_count(t)));
		struct ip_addr dst = addr_in(seed, &r->to);

		assert_ptr_equal(route_find(t, &dst), oracle_find(&ribs, t, &dst));
		addr[n] = dst;
		right[n++] = route_find(t, &dst);
		dst = addr_in(seed, &(struct ip_prefix){.addr = dst,
					    .len = ip_addr_is_v4(&dst) ? IP_V4_BITS + 4 : 20});
		assert_ptr_equal(route_find(t, &dst), oracle_find(&ribs, t, &dst));
		addr[n] = dst;
		right[n++] = route_find(t, &dst);
		if (n < batch)
			continue;
		route_find_each(t, addr, n, found);
		assert_memory_equal(found, right, n * sizeof(found[0]));
		n = 0;
		batch = 2 * (1 + random_below(seed, ROUTE_FIND_MAX / 2));
	}
	rte_rib_free(ribs.v4);
	rte_rib6_free(ribs.v6);
}

// Also after half of the routes were deleted.
static void test_oracle(void **state)
{
	struct route_table *t = route_table_new();
	uint64_t seed = 3;

	(void)state;
	assert_non_null(t);
	fill(t, IP_V4, 20000);
	fill(t, IP_V6, 40000);
	check_oracle(t, &seed);
	while (route_count(t) > 20000) {
		const struct route *r = route_at(t, random_below(&seed, (uint32_t)route_count(t)));

		assert_int_equal(route_delete(t, &r->to, &r->from, ROUTE_OWN), 0);
	}
	check_oracle(t, &seed);
	route_table_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_of_few),
		cmocka_unit_test(test_memory_of_many),
		cmocka_unit_test(test_memory_of_many_ipv6),
		cmocka_unit_test(test_list_of_many),
		cmocka_unit_test(test_memory_is_given_back),
		cmocka_unit_test(test_oracle),
	};

	return cmocka_run_group_tests(tests, eal_group_start, eal_group_stop);
}
