// SPDX-License-Identifier: BSD-3-Clause
// A route table with few nodes and entries, for tests that fill it.
#pragma once

#define ROUTES_MAX 96
#define NODES_MAX  64

#include <errno.h>

#include "addrs.h"
#include "eal.h"
#include "test.h"

#include "route_change.c"
#include "route_index.c"
#include "route_table.c"

static struct route_table *t;

static int begin(void **state)
{
	(void)state;
	t = route_table_new();
	return t != NULL ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	route_table_free(t);
	return 0;
}

static struct route route_to(const char *to, enum route_owner owner, uint16_t iface)
{
	return (struct route){.to = net_of(to), .owner = owner, .nexthop.iface = iface};
}

static void put(const char *to, enum route_owner owner, uint16_t iface)
{
	const struct route r = route_to(to, owner, iface);

	assert_int_equal(route_put(t, &r), 0);
}

static void delete (const char *to, enum route_owner owner)
{
	const struct ip_prefix prefix = net_of(to);

	assert_int_equal(route_delete(t, &prefix, &(struct ip_addr){0}, owner), 0);
}

// The interface of the route to an address; -1: there is none.
static int iface_to(const char *addr)
{
	const struct ip_addr a = addr_of(addr);
	const struct nexthop *nh = route_find(t, &a);

	return nh != NULL ? nh->iface : -1;
}

#define change_test(f) cmocka_unit_test_setup_teardown(f, begin, end)
