// SPDX-License-Identifier: BSD-3-Clause
// Hash table with two buckets to choose from for each key. Entries never move, so a look-up that
// runs beside any number of insertions and removals misses nothing that is there all the time.
#include "flow_table.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/mman.h>

#include <rte_pause.h>

#include "huge_pages.h"
#include "line_memory.h"

#define FILL_FIRST       32768 // entries that have memory from the start
#define FILL_STEP        8192
#define BUCKET_PREFERRED 5 // flows in the first bucket from which on the second is considered

struct layout {
	size_t buckets, entries, sources, total; // octets
	uint32_t n_buckets, n_entries;
};

static struct layout layout_of(const struct flow_params *p)
{
	// Entries left for others by a holder that uses all of the capacity.
	uint32_t capacity =
		RTE_ALIGN_CEIL(p->capacity + p->capacity / FLOW_HOLDER_SHARE, FLOW_CHAIN);
	struct layout l = {
		// Workers may have taken a chain each when the pool becomes low.
		.n_buckets = (capacity + (STORE + FLOW_CHAIN) * p->workers) / BUCKET_MEAN,
		.n_entries = capacity + (SPARE + STORE) * p->workers,
	};

	l.buckets = (size_t)l.n_buckets * sizeof(struct bucket);
	l.entries = ((size_t)l.n_entries + 1) * sizeof(struct flow);
	l.sources = 2 * (size_t)flow_sources_cells(p->capacity) * sizeof(uint32_t);
	l.total = RTE_ALIGN_CEIL(l.buckets + l.entries + l.sources, HUGE_PAGE);
	return l;
}

size_t flow_table_memory(const struct flow_params *p)
{
	return layout_of(p).total + sizeof(struct flow_table);
}

static void workers_init(struct flow_table *t)
{
	for (uint32_t i = 0; i < t->n_workers; i++) {
		struct flow_worker *w = &t->worker[i];

		w->first = 1 + (uint32_t)((uint64_t)t->n_entries * i / t->n_workers);
		w->end = 1 + (uint32_t)((uint64_t)t->n_entries * (i + 1) / t->n_workers);
		w->cursor = w->first;
		w->hand = (uint32_t)((uint64_t)t->n_buckets * i / t->n_workers);
	}
}

struct flow_table *flow_table_new(const struct flow_params *p, const struct flow_config *c)
{
	struct flow_table *t = line_calloc(1, sizeof(*t));
	struct layout l = layout_of(p);
	int rc = t != NULL ? 0 : -ENOMEM;

	if (rc == 0) {
		// The kernel clears it when it is first written, so workers get no part of it that
		// the control thread has not written.
		t->memory = huge_pages_map(l.total);
		t->memory_len = l.total;
		rc = t->memory != NULL ? 0 : -ENOMEM;
	}
	if (rc == 0)
		rc = hash_key_draw(&t->hash_key);
	if (rc == 0)
		rc = hash_key_draw(&t->sources.hash_key);
	if (rc < 0) {
		flow_table_free(t);
		errno = -rc;
		return NULL;
	}
	t->bucket = t->memory;
	t->entry = RTE_PTR_ADD(t->bucket, l.buckets);
	t->sources.cell = RTE_PTR_ADD(t->entry, l.entries);
	memset(t->bucket, 0, l.buckets);
	memset(t->sources.cell, 0, l.sources);
	t->sources.mask = flow_sources_cells(p->capacity) - 1;
	t->n_buckets = l.n_buckets;
	t->n_entries = l.n_entries;
	t->n_workers = p->workers;
	t->reserve = SPARE / FLOW_CHAIN * p->workers;
	t->unestablished_max = p->capacity / FLOW_HOLDER_SHARE;
	t->qsbr = p->qsbr;
	t->reader = p->reader;
	flow_table_configure(t, c);
	workers_init(t);
	flow_pool_fill(t, FILL_FIRST + (SPARE + STORE) * t->n_workers);
	return t;
}

bool flow_table_fill(struct flow_table *t)
{
	return flow_pool_fill(t, FILL_STEP);
}

void flow_table_free(struct flow_table *t)
{
	if (t != NULL && t->memory != NULL)
		munmap(t->memory, t->memory_len);
	line_free(t);
}

uint32_t flow_number(const struct flow_table *t, const struct flow *f)
{
	return (uint32_t)(f - t->entry);
}

static bool is_flow_of(const struct flow *f, const struct flow_key *key)
{
	return flow_key_equal(&f->key, key) && (flow_word(f) & FLOW_REMOVED) == 0;
}

static struct flow *bucket_find_flow(const struct flow_table *t, const struct bucket *b,
	uint32_t tag, const struct flow_key *key)
{
	for (unsigned int hits = bucket_match(b, tag); hits != 0; hits &= hits - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(hits);
		struct flow *f =
			&t->entry[atomic_load_explicit(&b->number[i], memory_order_acquire)];

		if (is_flow_of(f, key))
			return f;
	}
	return NULL;
}

static struct flow *flow_find_hashed(
	const struct flow_table *t, uint32_t hash, const struct flow_key *key)
{
	struct flow *f = bucket_find_flow(t, flow_first_bucket(t, hash), tag_of(hash), key);

	return f != NULL ? f : bucket_find_flow(t, flow_second_bucket(t, hash), tag_of(hash), key);
}

struct flow *flow_find(const struct flow_table *t, const struct flow_pkt *p)
{
	return flow_find_hashed(t, p->hash, &p->key);
}

static void bucket_lock(struct bucket *b)
{
	while (atomic_exchange_explicit(&b->locked, true, memory_order_acquire))
		while (atomic_load_explicit(&b->locked, memory_order_relaxed))
			rte_pause();
}

static void bucket_unlock(struct bucket *b)
{
	atomic_store_explicit(&b->locked, false, memory_order_release);
}

// Both, in the order of their addresses; they may be one.
static void buckets_lock(struct bucket *a, struct bucket *b)
{
	bucket_lock(RTE_MIN(a, b));
	if (a != b)
		bucket_lock(RTE_MAX(a, b));
}

static void buckets_unlock(struct bucket *a, struct bucket *b)
{
	bucket_unlock(a);
	if (a != b)
		bucket_unlock(b);
}

static unsigned int bucket_fill(const struct bucket *b)
{
	return BUCKET_SLOTS - (unsigned int)__builtin_popcount(bucket_match(b, TAG_EMPTY));
}

// The first bucket unless it is well filled: most look-ups then end there.
static struct bucket *choose_bucket(struct bucket *first, struct bucket *second)
{
	unsigned int fill = bucket_fill(first);

	return fill < BUCKET_PREFERRED || bucket_fill(second) >= fill ? first : second;
}

// Under its lock: makes the entry live, and visible to look-ups. False if the bucket is full.
static bool bucket_set(struct flow_table *t, struct bucket *b, struct flow *f, uint32_t word)
{
	unsigned int empty = bucket_match(b, TAG_EMPTY), i;

	if (empty == 0)
		return false;
	i = (unsigned int)__builtin_ctz(empty);
	atomic_store_explicit(&f->word, word, memory_order_release);
	for (unsigned int dir = 0; dir < 2; dir++) // nobody else has it yet
		atomic_store_explicit(&f->dir[dir].by,
			(uint64_t)flow_word_copy(word, dir) << FLOW_SHOWN_SHIFT,
			memory_order_relaxed);
	atomic_store_explicit(&b->number[i], flow_number(t, f), memory_order_release);
	atomic_store_explicit(&b->tag[i], tag_of(f->hash), memory_order_release);
	return true;
}

static bool bucket_clear(struct bucket *b, uint32_t tag, uint32_t number)
{
	bool found = false;

	bucket_lock(b);
	for (unsigned int hits = bucket_match(b, tag); hits != 0 && !found; hits &= hits - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(hits);

		found = atomic_load_explicit(&b->number[i], memory_order_acquire) == number;
		if (found)
			atomic_store_explicit(&b->tag[i], TAG_EMPTY, memory_order_relaxed);
	}
	bucket_unlock(b);
	return found;
}

static void entry_init(struct flow *f, const struct flow_pkt *p, uint32_t holder, uint32_t now)
{
	f->key = p->key;
	memset(f->tcp, 0, sizeof(f->tcp));
	memset(f->scale, 0, sizeof(f->scale));
	memset(f->dir, 0, sizeof(f->dir));
	f->dir[0].key = f->dir[1].key = p->v4 ? flow_brief_of(&p->key) : FLOW_BRIEF_V6;
	memset(f->syn, 0, sizeof(f->syn));
	f->hash = p->hash;
	f->holder = holder;
	atomic_store_explicit(&f->created, now, memory_order_relaxed);
	atomic_store_explicit(&f->dir[0].seen, now, memory_order_relaxed);
	atomic_store_explicit(&f->dir[1].seen, now, memory_order_relaxed);
}

// Puts an entry into the table, unless there is one for its key by now. Returns the entry in the
// table, or NULL if both buckets are full.
static struct flow *link_entry(struct flow_table *t, struct flow *f, uint32_t word)
{
	struct bucket *first = flow_first_bucket(t, f->hash),
		      *second = flow_second_bucket(t, f->hash);
	struct flow *in_table;

	buckets_lock(first, second);
	in_table = flow_find_hashed(t, f->hash, &f->key);
	if (in_table == NULL && bucket_set(t, choose_bucket(first, second), f, word))
		in_table = f;
	buckets_unlock(first, second);
	return in_table;
}

bool flow_unlink(struct flow_table *t, struct flow_worker *w, struct flow *f)
{
	uint32_t word = atomic_fetch_or_explicit(&f->word, FLOW_REMOVED, memory_order_acq_rel);
	uint32_t tag = tag_of(f->hash), number = flow_number(t, f);
	uint64_t held = FLOW_HELD;

	if ((word & FLOW_REMOVED) != 0)
		return false;
	flow_word_show(f);
	if ((word & FLOW_COUNTED) != 0) {
		flow_source_subtract(t, f, word);
		held += FLOW_UNESTABLISHED;
	}
	flow_holder_subtract(&t->holders, f->holder, held);
	if (!bucket_clear(flow_first_bucket(t, f->hash), tag, number))
		bucket_clear(flow_second_bucket(t, f->hash), tag, number);
	flow_pool_retire(t, w, f);
	return true;
}

static enum drop flow_refuse(struct flow_worker *w, enum drop reason)
{
	count(&w->counters.refused[reason]);
	return reason;
}

// Whether the holder may add a flow without evicting another's. It must leave room free for the
// others, so that no number of holders can fill the table.
static bool may_grow(struct flow_table *t, uint32_t holder)
{
	return flow_holder_count(&t->holders, holder).flows <
	       (uint64_t)flow_pool_free(t) * FLOW_HOLDER_SHARE;
}

enum drop flow_insert(struct flow_table *t, unsigned int worker, const struct flow_pkt *p,
	uint32_t holder, uint32_t now, struct flow **flow)
{
	struct flow_worker *w = &t->worker[worker];
	const struct ip_addr *source = &p->key.addr[p->dir];
	uint32_t limit = atomic_load_explicit(&t->source_limit, memory_order_relaxed);
	enum drop reason;
	uint32_t word = ct_begin(t, p, &reason);

	if (word == 0)
		return flow_refuse(w, reason);
	if (limit != 0 && flow_sources_count(&t->sources, source) >= limit)
		return flow_refuse(w, DROP_FLOW_SOURCE_LIMIT);

	if (limit != 0)
		word |= FLOW_OF_SOURCE;

	if (!may_grow(t, holder) && !flow_evict(t, w, p->hash, holder, now))
		return flow_refuse(w, DROP_FLOW_TABLE_FULL);

	uint32_t number = flow_pool_take(t, w);
	struct flow *f = &t->entry[number];

	if (number == 0)
		return flow_refuse(w, DROP_FLOW_TABLE_FULL);
	entry_init(f, p, holder, now);
	flow_source_add(t, f, word);
	flow_holder_add(&t->holders, holder, FLOW_HELD + FLOW_UNESTABLISHED);
	*flow = link_entry(t, f, word | FLOW_COUNTED);
	if (*flow == f) {
		count(&w->counters.created);
		return DROP_NONE;
	}
	flow_source_subtract(t, f, word);
	flow_holder_subtract(&t->holders, holder, FLOW_HELD + FLOW_UNESTABLISHED);
	flow_pool_give(t, w, number); // it was never visible
	return *flow != NULL ? DROP_NONE : flow_refuse(w, DROP_FLOW_TABLE_FULL);
}
