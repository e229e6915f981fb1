// SPDX-License-Identifier: BSD-3-Clause
#include "hop_group.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool nexthop_equal(const struct nexthop *a, const struct nexthop *b)
{
	return a->kind == b->kind && a->iface == b->iface &&
	       ip_addr_equal(&a->gateway, &b->gateway) && ip_addr_equal(&a->source, &b->source);
}

// The finalizer of SplitMix64 (Steele, Lea, Flood, 2014).
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static uint64_t seed_of(const struct nexthop *nh)
{
	uint64_t x = mix((uint64_t)nh->kind << 16 | nh->iface);

	return mix(mix(x ^ nh->gateway.q[0]) ^ nh->gateway.q[1]);
}

static int compare(const void *a, const void *b)
{
	const struct hop *x = a, *y = b;
	int by_gateway = memcmp(&x->nexthop.gateway, &y->nexthop.gateway, sizeof(struct ip_addr));

	if (x->seed != y->seed)
		return x->seed < y->seed ? -1 : 1;
	return by_gateway != 0
		       ? by_gateway
		       : memcmp(&x->nexthop.source, &y->nexthop.source, sizeof(struct ip_addr));
}

// Sorts the hops, and makes one of equal ones. Returns their number.
static unsigned int hops_unite(struct hop hop[], unsigned int n)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < n; i++)
		hop[i].seed = seed_of(&hop[i].nexthop);
	qsort(hop, n, sizeof(hop[0]), compare);
	for (unsigned int i = 0; i < n; i++)
		if (kept > 0 && nexthop_equal(&hop[kept - 1].nexthop, &hop[i].nexthop))
			hop[kept - 1].weight += hop[i].weight;
		else
			hop[kept++] = hop[i];
	return kept;
}

static bool group_is(const struct hop_group *g, const struct hop hop[], unsigned int n)
{
	unsigned int i = 0;

	while (g->n == n && i < n && g->hop[i].weight == hop[i].weight &&
		nexthop_equal(&g->hop[i].nexthop, &hop[i].nexthop))
		i++;
	return g->n == n && i == n;
}

static struct hop_group *group_new(
	struct hop_groups *groups, const struct hop hop[], unsigned int n)
{
	struct hop_group *g = malloc(sizeof(*g) + n * sizeof(hop[0]));

	if (g == NULL)
		return NULL;
	*g = (struct hop_group){.next = groups->first, .n = n};
	memcpy(g->hop, hop, n * sizeof(hop[0]));
	groups->first = g;
	return g;
}

struct hop_group *hop_group_take(struct hop_groups *groups, const struct hop hops[], unsigned int n)
{
	struct hop_group *g = groups->first;
	struct hop hop[HOPS_MAX];

	if (n <= HOPS_MAX) {
		memcpy(hop, hops, n * sizeof(hop[0]));
		n = hops_unite(hop, n);
	}
	if (n < 2 || n > HOPS_MAX) {
		errno = EINVAL;
		return NULL;
	}
	while (g != NULL && !group_is(g, hop, n))
		g = g->next;
	if (g == NULL)
		g = group_new(groups, hop, n);
	if (g != NULL)
		hop_group_use(g);
	return g;
}

void hop_group_use(struct hop_group *group)
{
	group->users++;
}

void hop_group_release(struct hop_groups *groups, struct hop_group *group)
{
	struct hop_group **at = &groups->first;

	if (--group->users > 0)
		return;
	while (*at != group)
		at = &(*at)->next;
	*at = group->next;
	free(group);
}

// Exponentially distributed with the weight as its rate: the smallest of several is that of each in
// proportion to its rate.
static double score(const struct hop *hop, uint32_t flow)
{
	uint64_t drawn = mix(hop->seed ^ mix(flow));

	return -log(((double)(drawn >> 11) + 1) * 0x1p-53) / hop->weight;
}

static const struct hop *best_of(
	const struct hop_group *group, uint32_t flow, hop_is_up_fn *is_up, const void *arg)
{
	const struct hop *best = NULL;
	double least = INFINITY;

	for (const struct hop *h = group->hop; h < group->hop + group->n; h++) {
		double drawn = score(h, flow);

		if (drawn >= least || (is_up != NULL && !is_up(arg, &h->nexthop)))
			continue;
		least = drawn;
		best = h;
	}
	return best;
}

const struct hop *hop_choose(const struct hop_group *group, uint32_t flow,
	const struct nexthop *was, hop_is_up_fn *is_up, const void *arg)
{
	const struct hop *best;

	for (const struct hop *h = group->hop; was != NULL && h < group->hop + group->n; h++)
		if (nexthop_equal(&h->nexthop, was) && is_up(arg, was))
			return h;
	best = best_of(group, flow, is_up, arg);
	return best != NULL ? best : best_of(group, flow, NULL, NULL);
}
