// SPDX-License-Identifier: BSD-3-Clause
#include "hop_group.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "line_memory.h"

bool nexthop_equal(const struct nexthop *a, const struct nexthop *b)
{
	return a->kind == b->kind && a->iface == b->iface &&
	       ip_addr_equal(&a->gateway, &b->gateway) && ip_addr_equal(&a->source, &b->source);
}

bool nexthop_leads_into(const struct nexthop *nexthop, uint16_t iface)
{
	const struct nexthop *hop;

	for (unsigned int i = nexthop_first_place(nexthop); (hop = nexthop_hop(nexthop, i)) != NULL;
		i++)
		if (hop->kind <= NEXTHOP_TUNNEL && hop->iface == iface)
			return true;
	return false;
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

// By interface, as lists show them.
static int compare(const void *a, const void *b)
{
	const struct nexthop *x = &((const struct hop *)a)->nexthop;
	const struct nexthop *y = &((const struct hop *)b)->nexthop;
	int by_gateway = memcmp(&x->gateway, &y->gateway, sizeof(x->gateway));

	if (x->iface != y->iface)
		return x->iface < y->iface ? -1 : 1;
	return by_gateway != 0 ? by_gateway : memcmp(&x->source, &y->source, sizeof(x->source));
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

static uint64_t hash_of(const struct hop hop[], unsigned int n)
{
	uint64_t hash = n;

	for (unsigned int i = 0; i < n; i++)
		hash = mix(hash ^ hop[i].seed ^ hop[i].weight);
	return hash;
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
	struct hop_group **bucket, uint64_t hash, const struct hop hop[], unsigned int n)
{
	struct hop_group *g = line_calloc(1, sizeof(*g) + n * sizeof(hop[0]));

	if (g == NULL)
		return NULL;
	*g = (struct hop_group){.next = *bucket, .hash = hash, .n = n};
	memcpy(g->hop, hop, n * sizeof(hop[0]));
	for (unsigned int i = 0; i < n; i++)
		g->hop[i].nexthop.hop = (uint8_t)(i + 1);
	*bucket = g;
	return g;
}

static struct hop_group **bucket_of(struct hop_groups *groups, uint64_t hash)
{
	return &groups->bucket[hash % HOP_GROUP_BUCKETS];
}

int nexthop_take(
	struct nexthop *nexthop, struct hop_groups *groups, const struct hop hops[], unsigned int n)
{
	struct hop hop[HOPS_MAX];
	struct hop_group *g;
	uint64_t hash;

	if (n == 0 || n > HOPS_MAX)
		return -EINVAL;
	memcpy(hop, hops, n * sizeof(hop[0]));
	n = hops_unite(hop, n);
	*nexthop = hop[0].nexthop;
	if (n == 1)
		return 0;
	hash = hash_of(hop, n);
	g = *bucket_of(groups, hash);
	while (g != NULL && !(g->hash == hash && group_is(g, hop, n)))
		g = g->next;
	if (g == NULL)
		g = group_new(bucket_of(groups, hash), hash, hop, n);
	if (g == NULL)
		return -ENOMEM;
	*nexthop = (struct nexthop){.kind = NEXTHOP_SEVERAL, .gateway.q[0] = (uintptr_t)g};
	nexthop_use(nexthop);
	return 0;
}

void nexthop_use(const struct nexthop *nexthop)
{
	if (nexthop->kind == NEXTHOP_SEVERAL)
		nexthop_group(nexthop)->users++;
}

void nexthop_release(const struct nexthop *nexthop, struct hop_groups *groups)
{
	struct hop_group *g = nexthop->kind == NEXTHOP_SEVERAL ? nexthop_group(nexthop) : NULL;
	struct hop_group **at;

	if (g == NULL || --g->users > 0)
		return;
	at = bucket_of(groups, g->hash);
	while (*at != g)
		at = &(*at)->next;
	*at = g->next;
	line_free(g);
}

void hop_groups_free(struct hop_groups *groups)
{
	for (unsigned int i = 0; i < HOP_GROUP_BUCKETS; i++)
		for (struct hop_group *g = groups->bucket[i], *next; g != NULL; g = next) {
			next = g->next;
			line_free(g);
		}
}

// Exponentially distributed with the weight as its rate: the smallest of several is that of each in
// proportion to its rate.
static double score(const struct hop *hop, uint32_t flow)
{
	uint64_t drawn = mix(hop->seed ^ mix(flow));

	return -log(((double)(drawn >> 11) + 1) * 0x1p-53) / hop->weight;
}

static const struct hop *best_of(
	const struct hop_group *group, uint32_t flow, nexthop_is_up_fn *is_up, const void *arg)
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
	const struct nexthop *was, nexthop_is_up_fn *is_up, const void *arg)
{
	const struct hop *former = NULL, *best;

	for (const struct hop *h = group->hop; was != NULL && h < group->hop + group->n; h++)
		if (nexthop_equal(&h->nexthop, was))
			former = h;
	if (former != NULL && is_up(arg, &former->nexthop))
		return former;
	best = best_of(group, flow, is_up, arg);
	if (best != NULL)
		return best;
	return former != NULL ? former : best_of(group, flow, NULL, NULL);
}
