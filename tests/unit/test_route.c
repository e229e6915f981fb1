// SPDX-License-Identifier: BSD-3-Clause
// The route table against looking at every route for the longest prefix.
#include "eal.h"
#include "route.h"
#include "test.h"

#define ROUTES_MAX 1000

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

// Of equal prefixes the last counts.
static long naive_find(const struct route route[], unsigned int n, const struct ip_addr *dst)
{
	long best = -1;

	for (unsigned int i = 0; i < n; i++)
		if (ip_prefix_contains(&route[i].to, dst) &&
			(best < 0 || route[i].to.len >= route[best].to.len))
			best = i;
	return best;
}

static uint32_t random_v4(uint64_t *seed)
{
	uint32_t v4 = 0x0a000000;

	for (unsigned int n = random_below(seed, 5); n > 0; n--)
		v4 ^= UINT32_C(1) << random_below(seed, 32);
	return v4;
}

static struct route random_route(uint64_t *seed, uint16_t port)
{
	uint8_t len = (uint8_t)random_below(seed, 33);
	uint32_t v4 = len == 0 ? 0 : random_v4(seed) & UINT32_MAX << (32 - len);

	return (struct route){
		.to = {ip_addr_from_v4(rte_cpu_to_be_32(v4)), (uint8_t)(IP_V4_BITS + len)},
		.nexthop = {.kind = random_below(seed, 4), .port = port},
	};
}

static void check_find(
	const struct route_table *t, const struct route route[], unsigned int n, uint32_t v4)
{
	struct ip_addr dst = ip_addr_from_v4(rte_cpu_to_be_32(v4));
	const struct nexthop *nh = route_find(t, &dst);
	long right = naive_find(route, n, &dst);

	assert_ptr_equal(nh, route_find_v4(t, rte_cpu_to_be_32(v4)));
	if (right < 0) {
		assert_null(nh);
		return;
	}
	if (nh == NULL)
		fail_msg("no route to %08x", v4);
	assert_ptr_equal(nh, &route_at(t, (unsigned int)right)->nexthop);
	assert_int_equal(nh->port, route[right].nexthop.port);
}

static void test_model(void **state)
{
	static const unsigned int sizes[] = {1, 2, 5, 30, 200, ROUTES_MAX};
	static struct route route[ROUTES_MAX];
	uint64_t seed = 5;

	(void)state;
	for (unsigned long round = 0; round < rounds(60); round++) {
		unsigned int n = sizes[round % COUNT_OF(sizes)];

		for (unsigned int i = 0; i < n; i++)
			route[i] = random_route(&seed, (uint16_t)i);

		struct route_table *t = route_table_new(route, n);

		assert_non_null(t);
		assert_int_equal(route_count(t), n);
		for (unsigned int i = 0; i < 1000; i++)
			check_find(t, route, n, random_v4(&seed));
		for (unsigned int i = 0; i < n; i++) { // the edges of every prefix
			uint32_t first = rte_be_to_cpu_32(ip_addr_v4(&route[i].to.addr));
			uint32_t last = first | (uint32_t)(UINT64_C(0xffffffff) >>
							   (route[i].to.len - IP_V4_BITS));

			check_find(t, route, n, first);
			check_find(t, route, n, last);
			check_find(t, route, n, first - 1);
			check_find(t, route, n, last + 1);
		}
		route_table_free(t);
	}
}

static void test_empty(void **state)
{
	const struct route none = {0};
	struct route_table *t = route_table_new(&none, 0);
	struct ip_addr v6;

	(void)state;
	assert_non_null(t);
	assert_null(route_find_v4(t, RTE_BE32(0x0a000001)));
	assert_int_equal(ip_addr_parse(&v6, "2001:db8::1"), 0);
	assert_null(route_find(t, &v6));
	route_table_free(t);
	route_table_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_model),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
