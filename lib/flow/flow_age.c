// SPDX-License-Identifier: BSD-3-Clause
// How flows end: by timeout, by eviction, by a flush.
#include "flow_table.h"

#include <rte_prefetch.h>

#define EVICT_BUCKETS 18 // that are searched to make room for one, beside its own
#define AHEAD         4  // entries of a part
#define BIRTHS_AHEAD  4  // that others may have counted since a worker read the count

// State of the search for a flow to evict, with the best one so far.
struct search {
	struct flow_table *t;
	uint32_t now;
	uint32_t own; // flows of the holder that needs room
	bool flood;   // by that holder
	struct flow *flow;
	uint32_t held; // flows of its holder
	bool established;
	uint32_t age; // ms: since its last packet if it is established, else since it began
	// Whose flows were counted last: mostly those of the next one, too.
	uint32_t holder, holder_flows;
};

static uint32_t flows_of(struct search *s, uint32_t holder)
{
	if (holder != s->holder) {
		s->holder = holder;
		s->holder_flows = flow_holder_count(&s->t->holders, holder).flows;
	}
	return s->holder_flows;
}

// Order of eviction: flows of the largest holder first; of these the flows that are not
// established; of these the oldest.
static bool goes_before(const struct search *s, uint32_t held, bool established, uint32_t age)
{
	if (held != s->held)
		return held > s->held;
	if (established != s->established)
		return !established;
	return age > s->age;
}

// Idle for less, an established flow stays, unless its holder has at least twice as many. One whose
// source has a port that was chosen for it keeps that (RFC 4787 REQ-5, RFC 5382 REQ-5).
static uint32_t active_ms(const struct search *s, const struct flow *f, uint32_t word)
{
	return s->flood || ((word & FLOW_TRANSLATED) != 0 && flow_nat_has_port(flow_nat(s->t, f)))
		       ? FLOW_SPARED_MS
		       : FLOW_ACTIVE_MS;
}

// The same of a holder with twice as many: the fuller the table, the sooner.
static uint32_t active_low_ms(const struct search *s)
{
	uint64_t reserve = RTE_MAX(load(&s->t->unestablished_max), 1u);

	if (s->flood)
		return FLOW_SPARED_MS;
	return RTE_MAX(FLOW_BUSY_MS,
		(uint32_t)(FLOW_ACTIVE_MS * RTE_MIN(flow_pool_free(s->t), reserve) / reserve));
}

static void search_entry(struct search *s, struct flow *f)
{
	uint32_t word = flow_word(f), age, held;
	bool established = flow_word_class(word) == FLOW_CLASS_ESTABLISHED;

	if (!flow_word_live(word))
		return;
	age = established ? flow_idle(f, s->now) : elapsed(s->now, load(&f->created));
	if (established && age < active_low_ms(s))
		return;
	held = flows_of(s, f->holder);
	if (established && held / 2 < s->own && age < active_ms(s, f, word))
		return;
	if (!goes_before(s, held, established, age))
		return;
	s->flow = f;
	s->held = held;
	s->established = established;
	s->age = age;
}

// The two buckets of a newcomer, and which of their slots are still to be looked at: a bit for
// each, eight bits for a bucket.
struct own_slots {
	const struct bucket *bucket[2];
	unsigned int left;
};

static struct own_slots own_slots_of(struct flow_index *x, uint32_t hash)
{
	struct own_slots s = {.bucket = {flow_first_bucket(x, hash), flow_second_bucket(x, hash)}};

	s.left = bucket_used(s.bucket[0]) | bucket_used(s.bucket[1]) << 8;
	return s;
}

// Takes the oldest flow by the ages in the buckets, without reading any flow. A flow that another
// worker has added since the count was read has a later count: it is the youngest, not the oldest.
static struct flow *own_slots_take(const struct flow_table *t, struct own_slots *s)
{
	const uint8_t births = (uint8_t)(flow_births(t) + BIRTHS_AHEAD);
	unsigned int oldest = (unsigned int)__builtin_ctz(s->left);
	int age_max = -1;

	for (unsigned int left = s->left; left != 0; left &= left - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(left);
		uint8_t age =
			(uint8_t)(births - atomic_load_explicit(&s->bucket[i / 8]->born[i % 8],
						   memory_order_relaxed));

		if (age > age_max) {
			age_max = age;
			oldest = i;
		}
	}
	s->left &= ~(1u << oldest);
	return flow_at_place(t, atomic_load_explicit(&s->bucket[oldest / 8]->place[oldest % 8],
					memory_order_acquire));
}

static void search_bucket(struct search *s, const struct bucket *b)
{
	for (unsigned int used = bucket_used(b); used != 0; used &= used - 1)
		search_entry(
			s, flow_at_place(s->t, atomic_load_explicit(&b->place[__builtin_ctz(used)],
						       memory_order_acquire)));
}

// Whether every holder may add flows, by the free entries: none has more flows than there are.
static bool all_may_grow(const struct flow_table *t)
{
	return load(&t->n_filled) < (uint64_t)flow_pool_free(t) * FLOW_HOLDER_SHARE;
}

// The flow that most likely goes for that of the packet; NULL: their buckets are empty.
static const struct flow *likely_victim(
	const struct flow_table *t, struct flow_index *x, const struct flow_pkt *p)
{
	struct own_slots slots = own_slots_of(x, p->hash);

	return slots.left != 0 ? own_slots_take(t, &slots) : NULL;
}

// The flows' pages are many more than the processor remembers. In a loop this short it looks for
// several of them at once.
static void victims_prefetch(
	const struct flow_table *t, const struct flow_pkt *const p[], unsigned int n)
{
	struct flow_index *x = flow_index(t);
	const struct flow *victim[FLOW_BURST_MAX];

	for (unsigned int i = 0; i < n; i++)
		victim[i] = likely_victim(t, x, p[i]);
	for (unsigned int i = 0; i < n; i++) {
		rte_prefetch0(victim[i]);
		rte_prefetch0(RTE_PTR_ADD(victim[i], offsetof(struct flow, key)));
	}
}

void flow_insert_prefetch(
	const struct flow_table *t, const struct flow_pkt *const p[], unsigned int n)
{
	if (!all_may_grow(t)) // flows may have to go
		victims_prefetch(t, p, n);
	if (load(&t->source_limit) == 0)
		return;
	for (unsigned int i = 0; i < n; i++)
		flow_source_cells_prefetch(
			flow_source_cells(&t->sources, &p[i]->key.addr[p[i]->dir]));
}

// Whether the best flow so far is of a holder that is about as large as the largest.
static bool is_of_largest(const struct search *s, uint32_t largest)
{
	return s->flow != NULL && s->held >= largest - largest / 8;
}

// The buckets of the newcomer come first, so that they do not overflow while others are empty; in
// them the oldest flow, which mostly is of the largest holder and ends the search.
static void search_for(struct search *s, struct flow_worker *w, uint32_t hash)
{
	struct flow_table *t = s->t;
	struct flow_index *x = flow_index(t);
	uint32_t largest = flow_holder_count(&t->holders, load(&t->holders.largest)).flows;
	struct own_slots own = own_slots_of(x, hash);

	while (own.left != 0 && (s->established || s->held < largest))
		search_entry(s, own_slots_take(t, &own));
	for (unsigned int i = 0; i < EVICT_BUCKETS && !is_of_largest(s, largest); i++) {
		w->hand = w->hand + 1 < x->n ? w->hand + 1 : 0;
		search_bucket(s, &x->bucket[w->hand]);
	}
	if (s->flow != NULL && s->held > largest)
		store(&t->holders.largest, s->flow->holder);
}

bool flow_evict(struct flow_table *t, struct flow_worker *w, uint32_t hash, uint32_t holder,
	uint32_t now, uint64_t *held)
{
	struct flow_held own = flow_holder_count(&t->holders, holder);
	// A clearly smaller holder gives up nothing for this one.
	struct search s = {
		.t = t,
		.now = now,
		.own = own.flows,
		// With this many flows that are not established, a holder floods the table.
		.flood = own.unestablished >= load(&t->unestablished_max),
		.held = own.flows - own.flows / 8,
		.established = true,
		.holder = holder,
		.holder_flows = own.flows,
	};

	search_for(&s, w, hash);
	if (s.flow == NULL)
		return false;
	*held = flow_take_out(t, w, s.flow, FLOW_END_RESOURCES, now);
	if (*held == 0) // another worker was faster: there is room as well
		return true;
	count(&w->counters.evicted);
	if (s.flow->holder != holder) {
		flow_holder_subtract(&t->holders, s.flow->holder, *held);
		*held = 0;
	}
	return true;
}

// The part of a worker: every n-th entry, of n workers.
static uint32_t part_first(const struct flow_table *t, const struct flow_worker *w)
{
	return 1 + (uint32_t)(w - t->worker);
}

static uint32_t part_size(const struct flow_table *t, const struct flow_worker *w)
{
	return (load(&t->n_filled) + t->n_workers - part_first(t, w)) / t->n_workers;
}

static void step(uint32_t *left, _Atomic uint32_t *workers)
{
	if (*left > 0 && --*left == 0)
		atomic_fetch_sub_explicit(workers, 1, memory_order_release);
}

static void requests_step(struct flow_table *t, struct flow_worker *w)
{
	step(&w->flush_left, &t->flush_workers);
	step(&w->copy_left, &t->copy_workers);
}

// Requests of the control thread since the last call, for a flush or for copies in another index:
// of this worker's whole part. One that is not over begins again.
static void requests_begin(struct flow_table *t, struct flow_worker *w)
{
	const uint32_t flush = atomic_load_explicit(&t->flush_serial, memory_order_acquire);
	const uint32_t copy = atomic_load_explicit(&t->copy_serial, memory_order_acquire);
	uint32_t left;

	if (flush == w->flush && copy == w->copy)
		return;
	left = part_size(t, w) + 1;   // and a step for an empty part
	w->cursor = part_first(t, w); // the part may grow meanwhile, at its end
	if (flush != w->flush || w->flush_left > 0)
		w->flush_left = left;
	if (copy != w->copy || w->copy_left > 0)
		w->copy_left = left;
	w->flush = flush;
	w->copy = copy;
	requests_step(t, w);
}

// Of a flow that has timed out.
static enum flow_end end_of(uint32_t word)
{
	switch (flow_word_state(word)) {
	case FLOW_TCP_LAST_ACK:
	case FLOW_TCP_TIME_WAIT:
	case FLOW_TCP_CLOSE:
		return FLOW_END_CLOSED;
	default:
		return FLOW_END_IDLE;
	}
}

static void entry_tick(struct flow_table *t, struct flow_worker *w, struct flow *f, uint32_t now)
{
	uint32_t word = flow_word(f);

	if (!flow_word_live(word))
		return;
	if (flow_idle(f, now) >=
		atomic_load_explicit(&t->timeout[flow_word_state(word)], memory_order_relaxed)) {
		if (flow_unlink(t, w, f, end_of(word), now))
			count(&w->counters.expired);
	} else if (w->flush_left > 0 && flow_matches(t, f, word, &t->flush)) {
		if (flow_unlink(t, w, f, FLOW_END_FORCED, now))
			count(&w->counters.flushed);
	}
}

// Each flow loses its decisions within a round after a call of flow_redecide(): a flow that this
// round has visited before the call, in the next one, which counts from the beginning of this one.
static void round_begin(const struct flow_table *t, struct flow_worker *w, uint64_t redecided)
{
	w->cursor = part_first(t, w);
	w->redecided = w->redecided_now;
	w->redecided_now = redecided;
}

// The rest, which there is for few entries at few times.
static void entry_tick_rarely(
	struct flow_table *t, struct flow_worker *w, struct flow *f, uint32_t now)
{
	if (!flow_word_live(flow_word(f)))
		return;
	flow_redecide_entry(t, w, f);
	if (w->copy_left > 0 && !flow_entry_copy(t, f) &&
		flow_unlink(t, w, f, FLOW_END_RESOURCES, now))
		count(&w->counters.evicted);
	if (flow_adopted_is_gone(t, f, now) && flow_unlink(t, w, f, FLOW_END_IDLE, now))
		count(&w->counters.expired);
}

void flow_tick(struct flow_table *t, unsigned int worker, uint32_t now, unsigned int n)
{
	struct flow_worker *w = &t->worker[worker];
	const uint64_t redecided = atomic_load_explicit(&t->redecided, memory_order_acquire);
	const uint32_t last = load(&t->n_filled); // entries without memory so far hold no flows
	const uint32_t ahead = AHEAD * t->n_workers;
	bool rarely;

	n = RTE_MIN(n * load(&t->rounds), part_size(t, w)); // one round at most
	requests_begin(t, w);
	rarely = redecided != w->redecided || w->copy_left > 0 || flow_adopted_may_be_gone(t);
	for (unsigned int i = 0; i < n; i++) {
		struct flow *f = &t->entry[w->cursor];

		rte_prefetch0(f + ahead);
		rte_prefetch0(&(f + ahead)->dir[0]);
		rte_prefetch0(&(f + ahead)->dir[1]);
		entry_tick(t, w, f, now);
		if (unlikely(rarely))
			entry_tick_rarely(t, w, f, now);
		requests_step(t, w);
		w->cursor += t->n_workers;
		if (w->cursor > last)
			round_begin(t, w, redecided);
	}
	if (t->inbox != NULL && worker == 0)
		flow_inbox_take(t, w, now);
	flow_pool_reclaim(t, w);
}

void flow_remove(struct flow_table *t, unsigned int worker, struct flow *f, uint32_t now)
{
	struct flow_worker *w = &t->worker[worker];

	if (flow_unlink(t, w, f, FLOW_END_FORCED, now))
		count(&w->counters.flushed);
}
