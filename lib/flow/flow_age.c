// SPDX-License-Identifier: BSD-3-Clause
// How flows end: by time, to make room, because they were told to.
#include "flow_table.h"

#include <rte_prefetch.h>

#define EVICT_BUCKETS 12 // that are looked at to make room for one, beside its own
#define AHEAD         4  // entries

// Of the flows in a bucket that may have to go, the oldest that is older than one from elsewhere.
static struct flow *oldest(
	const struct flow_table *t, const struct bucket *b, struct flow *other, uint32_t now)
{
	for (unsigned int i = 0; i < BUCKET_SLOTS; i++) {
		if (atomic_load_explicit(&b->tag[i], memory_order_acquire) == 0)
			continue;

		struct flow *f =
			&t->entry[atomic_load_explicit(&b->number[i], memory_order_acquire)];
		uint32_t word = flow_word(f);

		if (!flow_word_live(word) || flow_word_class(word) == FLOW_CLASS_ESTABLISHED)
			continue;
		if (other == NULL ||
			elapsed(now, load(&f->created)) > elapsed(now, load(&other->created)))
			other = f;
	}
	return other;
}

// The buckets of the newcomer come first, so that they do not overflow while others are empty; if
// all in there are established, others have their turn.
bool flow_evict(struct flow_table *t, struct flow_worker *w, uint32_t hash, uint32_t now)
{
	struct flow *f = oldest(t, flow_first_bucket(t, hash), NULL, now);

	f = oldest(t, flow_second_bucket(t, hash), f, now);
	for (unsigned int i = 0; i < EVICT_BUCKETS && f == NULL; i++) {
		w->hand = w->hand + 1 < t->n_buckets ? w->hand + 1 : 0;
		f = oldest(t, &t->bucket[w->hand], NULL, now);
	}
	if (f == NULL)
		return false;
	// Should another worker have been faster, there is room as well.
	if (flow_unlink(t, w, f))
		count(&w->counters.evicted);
	return true;
}

// What the control thread has asked for since the last call concerns the whole part.
static void flush_begin(struct flow_table *t, struct flow_worker *w)
{
	uint32_t serial = atomic_load_explicit(&t->flush_serial, memory_order_acquire);

	if (serial != w->flush) {
		w->flush = serial;
		w->flush_left = w->end - w->first;
	}
}

static void flush_step(struct flow_table *t, struct flow_worker *w)
{
	if (w->flush_left > 0 && --w->flush_left == 0)
		atomic_fetch_sub_explicit(&t->flush_workers, 1, memory_order_release);
}

static void look_at(struct flow_table *t, struct flow_worker *w, struct flow *f, uint32_t now)
{
	uint32_t word = flow_word(f);

	if (!flow_word_live(word))
		return;
	if (flow_idle(f, now) >=
		atomic_load_explicit(&t->timeout[flow_word_state(word)], memory_order_relaxed)) {
		if (flow_unlink(t, w, f))
			count(&w->counters.expired);
	} else if (w->flush_left > 0 && flow_matches(f, word, &t->flush)) {
		if (flow_unlink(t, w, f))
			count(&w->counters.flushed);
	}
}

void flow_tick(struct flow_table *t, unsigned int worker, uint32_t now, unsigned int n)
{
	struct flow_worker *w = &t->worker[worker];

	flush_begin(t, w);
	for (unsigned int i = 0; i < n; i++) {
		struct flow *f = &t->entry[w->cursor];

		rte_prefetch0(f + AHEAD);
		rte_prefetch0(&(f + AHEAD)->dir[0]);
		rte_prefetch0(&(f + AHEAD)->dir[1]);
		look_at(t, w, f, now);
		flush_step(t, w);
		w->cursor = w->cursor + 1 < w->end ? w->cursor + 1 : w->first;
	}
	flow_pool_reclaim(t, w);
}

void flow_remove(struct flow_table *t, unsigned int worker, struct flow *f)
{
	struct flow_worker *w = &t->worker[worker];

	if (flow_unlink(t, w, f))
		count(&w->counters.flushed);
}
