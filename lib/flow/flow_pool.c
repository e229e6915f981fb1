// SPDX-License-Identifier: BSD-3-Clause
// Free entries. Each worker keeps a few; the rest is a stack of chains, from which workers take and
// to which they give one chain at a time by compare-and-swap.
#include "flow_table.h"

// Entries that a worker removes before it looks whether earlier ones are free: few of its SPARE, so
// that new flows of a full table do not wait for flow_tick().
#define RECLAIM_EVERY 64

#define POOL_FIRST(pool)        ((uint32_t)(pool))
#define POOL_AFTER(pool, first) ((((pool) >> 32) + 1) << 32 | (first))

static void pool_push(struct flow_table *t, uint32_t first)
{
	uint64_t pool = atomic_load_explicit(&t->pool, memory_order_relaxed);

	do
		atomic_store_explicit(
			&t->entry[first].next_chain, POOL_FIRST(pool), memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&t->pool, &pool, POOL_AFTER(pool, first),
		memory_order_release, memory_order_relaxed));
	atomic_fetch_add_explicit(&t->pool_chains, 1, memory_order_relaxed);
}

// First entry of a chain, or 0.
static uint32_t pool_pop(struct flow_table *t)
{
	uint64_t pool = atomic_load_explicit(&t->pool, memory_order_acquire);
	uint32_t second;

	do {
		if (POOL_FIRST(pool) == 0)
			return 0;
		// If another worker takes this chain now, the count of changes tells.
		second = atomic_load_explicit(
			&t->entry[POOL_FIRST(pool)].next_chain, memory_order_relaxed);
	} while (!atomic_compare_exchange_weak_explicit(&t->pool, &pool, POOL_AFTER(pool, second),
		memory_order_acquire, memory_order_acquire));
	atomic_fetch_sub_explicit(&t->pool_chains, 1, memory_order_relaxed);
	return POOL_FIRST(pool);
}

static void chain_push(struct flow_table *t, const uint32_t number[FLOW_CHAIN])
{
	memcpy(t->entry[number[0]].chain, number, FLOW_CHAIN * sizeof(number[0]));
	pool_push(t, number[0]);
}

static void chain_take(struct flow_table *t, struct flow_worker *w)
{
	uint32_t first = pool_pop(t);

	if (first == 0)
		return;
	memcpy(w->free, t->entry[first].chain, sizeof(t->entry[first].chain));
	w->n_free = FLOW_CHAIN;
}

// An entry is written as a whole.
static void prefetch_entry(const struct flow *f)
{
	for (size_t i = 0; i < sizeof(*f); i += RTE_CACHE_LINE_SIZE)
		__builtin_prefetch((const char *)f + i, 1);
}

uint32_t flow_pool_take(struct flow_table *t, struct flow_worker *w)
{
	uint32_t number;

	if (w->n_free == 0)
		chain_take(t, w);
	if (w->n_free == 0)
		return 0;
	number = w->free[--w->n_free];
	if (w->n_free > 0)
		prefetch_entry(&t->entry[w->free[w->n_free - 1]]);
	return number;
}

void flow_pool_give(struct flow_table *t, struct flow_worker *w, uint32_t number)
{
	if (w->n_free == STORE) {
		w->n_free -= FLOW_CHAIN;
		chain_push(t, &w->free[w->n_free]);
	}
	w->free[w->n_free++] = number;
}

bool flow_pool_fill(struct flow_table *t, uint32_t n)
{
	uint32_t from = load(&t->n_filled), to = RTE_MAX(from, RTE_MIN(from + n, t->n_entries));

	// The last chain first, so that entries are used in their order in memory.
	for (uint32_t e = to; e > from; e -= FLOW_CHAIN) {
		uint32_t number[FLOW_CHAIN];

		for (uint32_t i = 0; i < FLOW_CHAIN; i++) {
			number[i] = e - i;
			// Written here, so that the kernel has no page left to clear for a worker.
			atomic_store_explicit(
				&t->entry[e - i].word, FLOW_FREE, memory_order_relaxed);
		}
		chain_push(t, number);
	}
	store(&t->n_filled, to);
	return to < t->n_entries;
}

// Some only serve while others wait for a grace period.
void flow_pool_reserve(struct flow_table *t)
{
	const uint32_t filled = load(&t->n_filled);
	const uint32_t beyond = filled > t->n_entries ? filled - t->n_entries : 0;

	store(&t->reserve, SPARE / FLOW_CHAIN * t->n_workers + beyond / FLOW_CHAIN);
}

uint32_t flow_pool_free(const struct flow_table *t)
{
	const int32_t chains = (int32_t)load(&t->pool_chains), reserve = (int32_t)load(&t->reserve);

	return chains > reserve ? (uint32_t)(chains - reserve) * FLOW_CHAIN : 0;
}

// One thread asks at a time: DPDK's answer may be the cached result of another thread, which has no
// memory ordering.
bool flow_grace_over(struct flow_table *t, uint64_t token)
{
	bool over;

	if (atomic_exchange_explicit(&t->asking, true, memory_order_acquire))
		return false;
	over = rte_rcu_qsbr_check(t->qsbr, token, false) == 1;
	atomic_store_explicit(&t->asking, false, memory_order_release);
	return over;
}

void flow_pool_reclaim(struct flow_table *t, struct flow_worker *w)
{
	if (w->waiting == 0 && w->removed == 0)
		return;
	if (w->waiting != 0 && !flow_grace_over(t, w->token))
		return;
	for (uint32_t e = w->waiting, next; e != 0; e = next) {
		next = t->entry[e].next;
		__builtin_prefetch(&t->entry[t->entry[e].ahead].word, 1);
		__builtin_prefetch(&t->entry[t->entry[e].ahead].next);
		atomic_store_explicit(&t->entry[e].word, FLOW_FREE, memory_order_relaxed);
		flow_pool_give(t, w, e);
	}
	w->waiting = w->removed;
	w->removed = 0;
	memset(w->recent, 0, sizeof(w->recent));
	if (w->waiting != 0)
		w->token = rte_rcu_qsbr_start(t->qsbr);
}

void flow_pool_retire(struct flow_table *t, struct flow_worker *w, struct flow *f)
{
	uint32_t number = flow_number(t, f);
	uint32_t *recent = &w->recent[w->n_recent++ % REMOVED_AHEAD];

	f->next = w->removed;
	f->ahead = *recent;
	*recent = number;
	w->removed = number;
	if (w->n_recent % RECLAIM_EVERY == 0)
		flow_pool_reclaim(t, w);
}
