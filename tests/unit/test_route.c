// SPDX-License-Identifier: BSD-3-Clause
// The route table against a linear search for the longest prefix.
#include <errno.h>

#include "addrs.h"
#include "eal.h"
#include "route_change.h"
#include "test.h"

#define ROUTES_MAX 1000

// Of equal prefixes the last counts.
static long naive_find(const struct route route[], unsigned int n, const struct ip_addr *dst)
{
	long best = -1;

	for (unsigned int i = 0; i < n; i++)
		if (naive_prefix(&route[i].to, ip_addr_family(&route[i].to.addr), dst) &&
			(best < 0 || route[i].to.len >= route[best].to.len))
			best = i;
	return best;
}

static struct ip_addr random_dst(uint64_t *seed, enum ip_family family)
{
	struct ip_addr a =
		family == IP_V4 ? ip_addr_from_v4(RTE_BE32(0x0a000000)) : random_addr(seed, family);
	unsigned int first = family == IP_V4 ? IP_V4_BITS : 0;

	for (unsigned int n = random_below(seed, 5); n > 0; n--) {
		unsigned int bit = first + random_below(seed, 128 - first);

		a.b[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
	}
	return a;
}

static struct route random_route(uint64_t *seed, uint16_t iface)
{
	static const enum nexthop_kind kinds[] = {
		NEXTHOP_CONNECTED, NEXTHOP_GATEWAY, NEXTHOP_TUNNEL, NEXTHOP_LOCAL};
	enum ip_family family = random_family(seed);
	unsigned int first = family == IP_V4 ? IP_V4_BITS : 0;

	return (struct route){
		.to = prefix_of(random_dst(seed, family), first + random_below(seed, 129 - first)),
		.nexthop = {.kind = kinds[random_below(seed, COUNT_OF(kinds))], .iface = iface},
	};
}

static void check_find(const struct route_table *t, const struct route route[], unsigned int n,
	const struct ip_addr *dst)
{
	const struct nexthop *nh = route_find(t, dst), *at_once;
	long right = naive_find(route, n, dst);
	char buf[IP_ADDR_STRLEN];

	if (ip_addr_is_v4(dst))
		assert_ptr_equal(nh, route_find_v4(t, ip_addr_v4(dst)));
	route_find_each(t, dst, 1, &at_once);
	assert_ptr_equal(at_once, nh);
	if (right < 0) {
		assert_null(nh);
		return;
	}
	if (nh == NULL)
		fail_msg("no route to %s", ip_addr_format(buf, dst));
	assert_int_equal(nh->iface, route[right].nexthop.iface);
	assert_int_equal(route_of(nh)->to.len, route[right].to.len);
}

// A table of the routes.
static struct route_table *table_of(const struct route route[], unsigned int n)
{
	struct route_table *t = route_table_new();

	assert_non_null(t);
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(route_put(t, &route[i]), 0);
	return t;
}

// Frees all that changes have removed: nobody reads the table.
static void release(struct route_table *t)
{
	route_table_release(t, route_table_removed(t));
}

// The address before or after.
static struct ip_addr neighbour_of(struct ip_addr a, int step)
{
	for (int i = 15; i >= 0; i--) {
		a.b[i] = (uint8_t)(a.b[i] + step);
		if (a.b[i] != (step > 0 ? 0 : 0xff))
			break;
	}
	return a;
}

// The first and last address of a prefix, and their neighbours.
static void check_edges(
	const struct route_table *t, const struct route route[], unsigned int n, unsigned int i)
{
	struct ip_addr first = route[i].to.addr, last = first;

	for (unsigned int bit = route[i].to.len; bit < 128; bit++)
		last.b[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
	check_find(t, route, n, &first);
	check_find(t, route, n, &last);
	first = neighbour_of(first, -1);
	last = neighbour_of(last, 1);
	check_find(t, route, n, &first);
	check_find(t, route, n, &last);
}

static void check_all(struct route_table *t, const struct route route[], unsigned int n,
	unsigned int addresses, uint64_t *seed)
{
	for (unsigned int i = 0; i < addresses; i++) {
		struct ip_addr dst = random_dst(seed, random_family(seed));

		check_find(t, route, n, &dst);
	}
	for (unsigned int i = 0; i < n; i++)
		check_edges(t, route, n, i);
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

		struct route_table *t = table_of(route, n);

		assert_in_range(route_count(t), 1, n);
		check_all(t, route, n, 1000, &seed);
		route_table_free(t);
	}
}

// The place of a route with the same prefix and source, or n.
static unsigned int place_of(const struct route route[], unsigned int n, const struct route *r)
{
	unsigned int i = 0;

	while (i < n &&
		(route[i].to.len != r->to.len || !ip_addr_equal(&route[i].to.addr, &r->to.addr) ||
			!ip_addr_equal(&route[i].from, &r->from)))
		i++;
	return i;
}

// Deletes a random route, or adds or replaces one. Returns the number of routes.
static unsigned int change(struct route_table *t, struct route route[], unsigned int n,
	unsigned int max, struct route *r, bool delete)
{
	unsigned int place = place_of(route, n, r);

	if (delete) {
		assert_int_equal(
			route_delete(t, &r->to, &r->from, ROUTE_OWN), place < n ? 0 : -ENOENT);
		if (place < n)
			route[place] = route[--n];
		return n;
	}
	if (place == max)
		return n;
	assert_int_equal(route_put(t, r), 0);
	route[place] = *r;
	return n + (place == n);
}

// The listed routes are those of the model.
static void check_listed(const struct route_table *t, const struct route route[], unsigned int n)
{
	assert_int_equal(route_count(t), n);
	for (unsigned int i = 0; i < n; i++) {
		unsigned int place = place_of(route, n, route_at(t, i));

		assert_in_range(place, 0, n - 1);
		assert_int_equal(route_at(t, i)->nexthop.iface, route[place].nexthop.iface);
	}
}

// Routes are added, replaced and deleted in any order, and all of them in the end.
static void test_changes(void **state)
{
	enum { MAX = 60 };
	struct route route[MAX];
	uint64_t seed = 7;

	(void)state;
	for (unsigned long round = 0; round < rounds(20); round++) {
		struct route_table *t = table_of(NULL, 0);
		unsigned int n = 0;

		for (unsigned int i = 0; i < 2000; i++) {
			struct route r = random_route(&seed, (uint16_t)i);
			bool known = n > 0 && random_below(&seed, 2) == 0;

			if (known)
				r.to = route[random_below(&seed, n)].to;
			n = change(t, route, n, MAX, &r, random_below(&seed, 2) == 0);
			if (random_below(&seed, 8) == 0)
				release(t);
			if (i % 20 == 0) {
				check_all(t, route, n, 20, &seed);
				check_listed(t, route, n);
			}
		}
		while (n > 0)
			n = change(t, route, n, MAX, &(struct route){.to = route[0].to}, true);
		check_all(t, route, 0, 100, &seed);
		route_table_free(t);
	}
}

static void test_empty(void **state)
{
	struct route_table *t = table_of(NULL, 0);
	struct ip_addr v6 = addr_of("2001:db8::1");

	(void)state;
	assert_null(route_find_v4(t, RTE_BE32(0x0a000001)));
	assert_null(route_find(t, &v6));
	route_table_free(t);
	route_table_free(NULL);
}

// A source decides between routes with the same prefix, and a longer prefix before that.
static void test_source(void **state)
{
	struct route route[4];
	const struct ip_addr from[2] = {addr_of("192.0.2.1"), addr_of("198.51.100.1")};
	const struct ip_addr far = addr_of("203.0.113.9"), near = addr_of("10.9.0.1");
	const struct ip_addr lan = addr_of("10.1.0.5");
	struct route_table *t;

	(void)state;
	for (uint16_t i = 0; i < COUNT_OF(route); i++)
		route[i] = (struct route){.nexthop.iface = i};
	route[0].to = net_of("0.0.0.0/0");
	route[1].to = net_of("0.0.0.0/0");
	route[2].to = net_of("10.9.0.0/16");
	route[3].to = net_of("10.1.0.0/24");
	route[1].from = route[2].from = from[1];
	t = table_of(route, 4);
	assert_int_equal(route_find(t, &far)->iface, 0);
	assert_int_equal(route_find_from(t, &from[0], &far)->iface, 0);
	assert_int_equal(route_find_from(t, &from[1], &far)->iface, 1);
	assert_int_equal(route_find_from(t, &from[1], &near)->iface, 2);
	assert_int_equal(route_find_from(t, &from[0], &near)->iface, 0);
	assert_int_equal(route_find_from(t, &from[1], &lan)->iface, 3);
	assert_int_equal(route_of(route_find_from(t, &from[1], &near))->to.len, 96 + 16);
	assert_int_equal(route_count(t), 4);

	assert_int_equal(route_delete(t, &route[0].to, &route[0].from, ROUTE_OWN), 0);
	assert_null(route_find(t, &far));
	assert_null(route_find_from(t, &from[0], &far));
	assert_int_equal(route_find_from(t, &from[1], &far)->iface, 1);
	for (unsigned int i = 1; i < 3; i++) {
		assert_int_equal(route_delete(t, &route[i].to, &from[0], ROUTE_OWN), -ENOENT);
		assert_int_equal(route_delete(t, &route[i].to, &from[1], ROUTE_OWN), 0);
		release(t);
	}
	assert_null(route_find_from(t, &from[1], &far));
	assert_int_equal(route_find_from(t, &from[1], &lan)->iface, 3);
	route_table_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_source),
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_changes),
	};

	return cmocka_run_group_tests(tests, eal_group_start, eal_group_stop);
}
