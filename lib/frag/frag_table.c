// SPDX-License-Identifier: BSD-3-Clause
#include "frag_table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dpdk_compat.h"
#include "line_memory.h"

static_assert(sizeof(struct frag_key) == FRAG_KEY_WORDS * sizeof(uint64_t),
	"no padding: it is hashed and compared as words");

int frag_table_init(struct frag_table *t, uint32_t datagrams_max, uint32_t buffers_max,
	const struct hash_key *hash_key)
{
	uint32_t n_buckets = rte_align32pow2(datagrams_max);

	*t = (struct frag_table){
		.bucket_mask = n_buckets - 1, .hash_key = *hash_key, .buffers_max = buffers_max};
	t->buckets = line_calloc(n_buckets, sizeof(t->buckets[0]));
	t->by_weight = line_calloc(datagrams_max + buffers_max + 1, sizeof(t->by_weight[0]));
	t->datagrams = line_calloc(datagrams_max, sizeof(t->datagrams[0]));
	t->frags = line_calloc(buffers_max, sizeof(t->frags[0]));
	if (t->buckets == NULL || t->by_weight == NULL || t->datagrams == NULL ||
		t->frags == NULL) {
		frag_table_fini(t);
		return -ENOMEM;
	}
	TAILQ_INIT(&t->free_datagrams);
	TAILQ_INIT(&t->oldest);
	for (unsigned int i = 0; i < FRAG_LANES; i++) {
		TAILQ_INIT(&t->lane[i].oldest);
		LIST_INSERT_HEAD(&t->by_weight[0], &t->lane[i], same_weight);
	}
	for (uint32_t i = 0; i < datagrams_max; i++)
		TAILQ_INSERT_TAIL(&t->free_datagrams, &t->datagrams[i], by_age);
	for (uint32_t i = 0; i < buffers_max; i++)
		SLIST_INSERT_HEAD(&t->free_frags, &t->frags[i], next);
	return 0;
}

void frag_table_fini(struct frag_table *t)
{
	line_free(t->buckets);
	line_free(t->by_weight);
	line_free(t->datagrams);
	line_free(t->frags);
	*t = (struct frag_table){0};
}

static struct frag_lane *lane_of(struct frag_table *t, const struct frag_key *key)
{
	return &t->lane[keyed_hash(&t->hash_key, &key->origin, 1) % FRAG_LANES];
}

static_assert(FRAG_LANES - 1 <= UINT8_MAX, "an index of a lane fits");

static struct frag_lane *lane_at(struct frag_table *t, const struct frag_datagram *d)
{
	return &t->lane[d->lane];
}

static void lane_weigh(struct frag_table *t, struct frag_lane *lane, uint32_t weight)
{
	LIST_REMOVE(lane, same_weight);
	LIST_INSERT_HEAD(&t->by_weight[weight], lane, same_weight);
	lane->weight = weight;
	t->fullest = RTE_MAX(t->fullest, weight);
	while (LIST_EMPTY(&t->by_weight[t->fullest]))
		t->fullest--;
}

struct frag_datagram *frag_table_evictee(const struct frag_table *t)
{
	return TAILQ_FIRST(&LIST_FIRST(&t->by_weight[t->fullest])->oldest);
}

struct frag_datagram *frag_table_oldest(const struct frag_table *t)
{
	return TAILQ_FIRST(&t->oldest);
}

struct frag_datagram *frag_table_add(
	struct frag_table *t, struct frag_bucket *bucket, const struct frag_key *key, uint64_t now)
{
	struct frag_datagram *d = TAILQ_FIRST(&t->free_datagrams);
	struct frag_lane *lane = lane_of(t, key);

	TAILQ_REMOVE(&t->free_datagrams, d, by_age);
	memset(d, 0, offsetof(struct frag_datagram, map));
	d->key = *key;
	d->begun = now;
	d->lane = (uint8_t)(lane - t->lane);
	frag_map_clear(&d->map);
	LIST_INSERT_HEAD(bucket, d, same_hash);
	TAILQ_INSERT_TAIL(&t->oldest, d, by_age);
	TAILQ_INSERT_TAIL(&lane->oldest, d, of_lane);
	return d;
}

// Charges the lane of a datagram with this weight for it.
static void charge(struct frag_table *t, struct frag_datagram *d, uint32_t weight)
{
	struct frag_lane *lane = lane_at(t, d);

	if (weight == d->weight)
		return;
	lane_weigh(t, lane, lane->weight - d->weight + weight);
	d->weight = weight;
}

void frag_table_settle(struct frag_table *t, struct frag_datagram *d)
{
	charge(t, d, d->n_buffers + 1);
}

// Removes the fragments of a datagram.
static void frags_remove(struct frag_table *t, struct frag_datagram *d)
{
	struct frag *f;

	while ((f = SLIST_FIRST(&d->frags)) != NULL) {
		SLIST_REMOVE_HEAD(&d->frags, next);
		SLIST_INSERT_HEAD(&t->free_frags, f, next);
	}
	t->n_frags -= d->n_frags;
	t->n_buffers -= d->n_buffers;
	d->n_frags = 0;
	d->n_buffers = 0;
	d->first = NULL;
}

void frag_table_empty(struct frag_table *t, struct frag_datagram *d)
{
	frags_remove(t, d);
	charge(t, d, 1);
}

void frag_table_remove(struct frag_table *t, struct frag_datagram *d)
{
	frags_remove(t, d);
	charge(t, d, 0);
	LIST_REMOVE(d, same_hash);
	TAILQ_REMOVE(&t->oldest, d, by_age);
	TAILQ_REMOVE(&lane_at(t, d)->oldest, d, of_lane);
	TAILQ_INSERT_HEAD(&t->free_datagrams, d, by_age);
}
