// SPDX-License-Identifier: BSD-3-Clause
// librte_rib and librte_rib6, not librte_lpm or librte_fib: those take tens of megabytes for each
// table, and a look into the trie is paid once for a flow, not for every packet.
#include "route.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_errno.h>
#include <rte_memory.h>
#include <rte_rib.h>
#include <rte_rib6.h>

#include "dpdk_compat.h"
#include "line_memory.h"

struct route_table {
	struct rte_rib *rib; // for routes without a source
	struct rte_rib6 *rib6;
	struct route_table **by_source; // for routes with one source each
	unsigned int n_sources;
	struct ip_addr source; // of such a table
	unsigned int n;
	struct route route[];
};

static int route_insert_v4(struct route_table *t, unsigned int i)
{
	const struct ip_prefix *to = &t->route[i].to;
	uint32_t ip = rte_be_to_cpu_32(ip_addr_v4(&to->addr));
	uint8_t depth = (uint8_t)(to->len - IP_V4_BITS);
	struct rte_rib_node *node = rte_rib_lookup_exact(t->rib, ip, depth);

	if (node == NULL)
		node = rte_rib_insert(t->rib, ip, depth);
	if (node == NULL)
		return -rte_errno;
	return rte_rib_set_nh(node, i);
}

static int route_insert_v6(struct route_table *t, unsigned int i)
{
	const struct ip_prefix *to = &t->route[i].to;
	struct rte_rib6_node *node = rte_rib6_lookup_exact(t->rib6, ipv6_arg(&to->addr), to->len);

	if (node == NULL)
		node = rte_rib6_insert(t->rib6, ipv6_arg(&to->addr), to->len);
	if (node == NULL)
		return -rte_errno;
	return rte_rib6_set_nh(node, i);
}

static int route_insert(struct route_table *t, unsigned int i)
{
	return ip_addr_is_v4(&t->route[i].to.addr) ? route_insert_v4(t, i) : route_insert_v6(t, i);
}

// Makes the table of the routes of one source, in which they have none.
static struct route_table *table_of_source(const struct route_table *t, const struct ip_addr *from)
{
	struct route *of = calloc(t->n, sizeof(*of));
	struct route_table *made = NULL;
	unsigned int n = 0;

	for (unsigned int i = 0; of != NULL && i < t->n; i++)
		if (ip_addr_equal(&t->route[i].from, from))
			of[n++] = (struct route){
				.to = t->route[i].to, .nexthop = t->route[i].nexthop};
	if (of != NULL)
		made = route_table_new(of, n);
	free(of);
	return made;
}

static const struct route_table *find_source(
	const struct route_table *t, const struct ip_addr *from)
{
	for (unsigned int i = 0; i < t->n_sources; i++)
		if (ip_addr_equal(&t->by_source[i]->source, from))
			return t->by_source[i];
	return NULL;
}

static int sources_build(struct route_table *t)
{
	for (unsigned int i = 0; i < t->n; i++) {
		const struct ip_addr *from = &t->route[i].from;

		if (ip_addr_is_none(from) || find_source(t, from) != NULL)
			continue;
		if (t->by_source == NULL)
			t->by_source = calloc(t->n, sizeof(t->by_source[0]));
		if (t->by_source == NULL)
			return -ENOMEM;
		t->by_source[t->n_sources] = table_of_source(t, from);
		if (t->by_source[t->n_sources] == NULL)
			return -ENOMEM;
		t->by_source[t->n_sources++]->source = *from;
	}
	return 0;
}

struct route_table *route_table_new(const struct route routes[], unsigned int n)
{
	static atomic_uint serial; // tries of either kind have unique names
	unsigned int number = atomic_fetch_add(&serial, 1);
	char name[32];
	// An insertion may add a branch beside the node.
	struct rte_rib_conf conf = {.max_nodes = (int)(2 * n + 2)};
	struct rte_rib6_conf conf6 = {.max_nodes = (int)(2 * n + 2)};
	struct route_table *t = line_calloc(1, sizeof(*t) + n * sizeof(t->route[0]));
	int rc = 0;

	if (t == NULL)
		return NULL;
	t->n = n;
	memcpy(t->route, routes, n * sizeof(t->route[0]));
	snprintf(name, sizeof(name), "routes-%u", number);
	t->rib = rte_rib_create(name, SOCKET_ID_ANY, &conf);
	snprintf(name, sizeof(name), "routes6-%u", number);
	t->rib6 = rte_rib6_create(name, SOCKET_ID_ANY, &conf6);
	if (t->rib == NULL || t->rib6 == NULL)
		rc = -ENOMEM;
	for (unsigned int i = 0; rc == 0 && i < n; i++)
		if (ip_addr_is_none(&routes[i].from))
			rc = route_insert(t, i);
	if (rc == 0)
		rc = sources_build(t);
	if (rc < 0) {
		route_table_free(t);
		errno = -rc;
		return NULL;
	}
	return t;
}

void route_table_free(struct route_table *t)
{
	if (t == NULL)
		return;
	for (unsigned int i = 0; i < t->n_sources; i++)
		route_table_free(t->by_source[i]);
	free(t->by_source);
	rte_rib_free(t->rib);
	rte_rib6_free(t->rib6);
	line_free(t);
}

const struct nexthop *route_find_v4(const struct route_table *t, rte_be32_t dst)
{
	struct rte_rib_node *node = rte_rib_lookup(t->rib, rte_be_to_cpu_32(dst));
	uint64_t i;

	if (node == NULL)
		return NULL;
	rte_rib_get_nh(node, &i);
	return &t->route[i].nexthop;
}

static const struct nexthop *route_find_v6(const struct route_table *t, const struct ip_addr *dst)
{
	struct rte_rib6_node *node = rte_rib6_lookup(t->rib6, ipv6_arg(dst));
	uint64_t i;

	if (node == NULL)
		return NULL;
	rte_rib6_get_nh(node, &i);
	return &t->route[i].nexthop;
}

const struct nexthop *route_find(const struct route_table *t, const struct ip_addr *dst)
{
	return ip_addr_is_v4(dst) ? route_find_v4(t, ip_addr_v4(dst)) : route_find_v6(t, dst);
}

const struct nexthop *route_find_from(
	const struct route_table *t, const struct ip_addr *src, const struct ip_addr *dst)
{
	const struct route_table *of = find_source(t, src);
	const struct nexthop *any = route_find(t, dst),
			     *own = of != NULL ? route_find(of, dst) : NULL;

	if (own == NULL || (any != NULL && route_of(any)->to.len > route_of(own)->to.len))
		return any;
	return own;
}

unsigned int route_count(const struct route_table *t)
{
	return t->n;
}

const struct route *route_at(const struct route_table *t, unsigned int i)
{
	return &t->route[i];
}
