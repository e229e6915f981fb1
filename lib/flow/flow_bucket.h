// SPDX-License-Identifier: BSD-3-Clause
// Buckets of the flow table: their locks and slots. For flow_insert.c alone. Workers.
#pragma once

#include <rte_pause.h>

#include "flow_table.h"

// Slots in use of the first bucket from which on the second is considered: fewer for translated
// flows, whose two keys fill buckets.
#define BUCKET_PREFERRED     5
#define BUCKET_PREFERRED_NAT 4

// The two buckets of a key in an index.
struct home {
	struct bucket *first, *second;
};

static inline struct home home_of(struct flow_index *x, uint32_t hash)
{
	return (struct home){flow_first_bucket(x, hash), flow_second_bucket(x, hash)};
}

static inline void bucket_lock(struct bucket *b)
{
	while (atomic_exchange_explicit(&b->locked, true, memory_order_acquire))
		while (atomic_load_explicit(&b->locked, memory_order_relaxed))
			rte_pause();
}

static inline void bucket_unlock(struct bucket *b)
{
	atomic_store_explicit(&b->locked, false, memory_order_release);
}

// The buckets of a key or two, in one index or two, in the order of their addresses, each once.
struct locked {
	unsigned int n;
	struct bucket *bucket[8];
};

static inline void locked_add(struct locked *l, struct bucket *b)
{
	unsigned int i;

	for (i = 0; i < l->n; i++)
		if (l->bucket[i] == b)
			return;
	for (l->n++; i > 0 && l->bucket[i - 1] > b; i--)
		l->bucket[i] = l->bucket[i - 1];
	l->bucket[i] = b;
}

static inline void locked_add_home(struct locked *l, const struct home *home)
{
	locked_add(l, home->first);
	locked_add(l, home->second);
}

static inline void buckets_lock(const struct locked *l)
{
	for (unsigned int i = 0; i < l->n; i++)
		bucket_lock(l->bucket[i]);
}

static inline void buckets_unlock(const struct locked *l)
{
	for (unsigned int i = 0; i < l->n; i++)
		bucket_unlock(l->bucket[i]);
}

static inline unsigned int bucket_fill(const struct bucket *b)
{
	return (unsigned int)__builtin_popcount(bucket_used(b));
}

// The first bucket unless it is well filled: most look-ups then end there.
static inline struct bucket *choose_bucket(const struct home *home, unsigned int preferred)
{
	unsigned int fill = bucket_fill(home->first);

	return fill < preferred || bucket_fill(home->second) >= fill ? home->first : home->second;
}

// Under its lock, if it has room: makes the entry visible to look-ups by one of its keys.
static inline void bucket_set(struct bucket *b, uint32_t hash, uint32_t place, uint8_t born)
{
	unsigned int i = (unsigned int)__builtin_ctz(bucket_match(b, TAG_EMPTY));

	atomic_store_explicit(&b->born[i], born, memory_order_relaxed);
	atomic_store_explicit(&b->place[i], place, memory_order_release);
	atomic_store_explicit(&b->tag[i], tag_of(hash), memory_order_release);
}

// The number of the slot of a key; BUCKET_SLOTS: it has none here.
static inline unsigned int bucket_slot(const struct bucket *b, uint32_t tag, uint32_t place)
{
	for (unsigned int hits = bucket_match(b, tag); hits != 0; hits &= hits - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(hits);

		if (atomic_load_explicit(&b->place[i], memory_order_acquire) == place)
			return i;
	}
	return BUCKET_SLOTS;
}

static inline bool bucket_clear(struct bucket *b, uint32_t tag, uint32_t place)
{
	unsigned int i;

	bucket_lock(b);
	i = bucket_slot(b, tag, place);
	if (i < BUCKET_SLOTS)
		atomic_store_explicit(&b->tag[i], TAG_EMPTY, memory_order_relaxed);
	bucket_unlock(b);
	return i < BUCKET_SLOTS;
}
