// SPDX-License-Identifier: BSD-3-Clause
// The inside of the flow table, for the files of this folder.
#pragma once

#include <pthread.h>

#include <rte_vect.h>

#include "flow.h"
#include "flow_holder.h"
#include "flow_source.h"

#define BUCKET_SLOTS 7
#define BUCKET_MEAN  2 // flows in a bucket when the table is full: each may have two slots

// A slot is a tag, which is a hash or 0 if the slot is empty, and the place of the line of
// direction 0 of an entry, counted in lines. A look-up may read the tag of one entry and the place
// of another, or of none: only the entry's key counts. In the slot of a second key (flow_nat.h)
// whose ends are in the other order, it is the place of direction 1: so that place ^ direction of a
// packet is the line of the packet's direction in any case.
struct bucket {
	_Atomic uint32_t tag[BUCKET_SLOTS];   // read by all, written under the lock
	_Atomic uint32_t place[BUCKET_SLOTS]; // as the tags
	_Atomic uint8_t born[BUCKET_SLOTS];   // the same: flow_births() then
	atomic_bool locked;
} __rte_cache_aligned;

// The buckets of all keys. While one index replaces another, keys are put into both, and removed
// from both: see flow_resize.c.
struct flow_index {
	uint32_t n;                      // buckets
	size_t len;                      // octets
	struct flow_index *_Atomic next; // that replaces it; NULL: none. By the control thread
	struct hash_key hash_key;        // that of the table, for loops that need nothing else
	struct bucket bucket[];
};

#define FLOW_LINES 4 // of an entry

static_assert(sizeof(struct bucket) == 64, "one cache line");

#define STORE (2 * FLOW_CHAIN) // entries that a worker keeps

#define REMOVED_AHEAD 8 // entries of a list of removed ones, the distance of flow.ahead

// Entries beyond the capacity, for each worker: entries that wait for a grace period.
#define SPARE 1024

struct flow_worker {
	uint32_t n_free;
	uint32_t free[STORE]; // numbers of entries
	// Removed entries: first those of this grace period, then entries that wait for the next.
	uint32_t waiting, removed;      // first of each list, linked by next
	uint32_t recent[REMOVED_AHEAD]; // that were removed last, in turn; 0: none in this list
	uint32_t n_recent;              // removed in total
	uint64_t token;
	uint32_t cursor;          // next entry of its part for flow_tick()
	uint32_t hand;            // the bucket that has to make room next
	uint32_t births_left;     // flows that it adds before it counts them in births
	uint32_t flush;           // serial of the last one seen
	uint32_t flush_left;      // entries that it still has to look at
	uint32_t copy, copy_left; // the same of the index that replaces another
	// Calls of flow_redecide() before its last round began, and before this one did.
	uint64_t redecided, redecided_now;
	struct flow_bindings *bindings;       // NULL: none are logged
	struct flow_records *_Atomic records; // the ring, while records are made; else NULL
	struct flow_records *ring;            // NULL: none was needed yet
	struct {
		_Atomic uint64_t created, expired, evicted, flushed, reopened;
		_Atomic uint64_t bindings, bindings_ended, bindings_lost;
		_Atomic uint64_t records_lost;
		_Atomic uint64_t refused[DROP_COUNT];
	} counters; // written by this worker, read by all
} __rte_cache_aligned;

// Ports of translated sources: flow_port.h.
struct flow_ports {
	struct flow_sources by;  // by source and by holder, towards a destination
	_Atomic uint16_t *block; // by block of ports; as many cells as a row of the others
};

enum flow_move_step {
	FLOW_MOVE_NONE,
	FLOW_MOVE_CLEARS,    // the kernel clears the memory of the next index
	FLOW_MOVE_ANNOUNCED, // until all workers put keys into both
	FLOW_MOVE_COPIES,    // until workers have copied the keys of flows from before
	FLOW_MOVE_LOOKED_UP, // until all workers look keys up in the next one
	FLOW_MOVE_LEFT,      // until no worker puts keys into the former one
};

// The replacement of the index by a larger one.
struct flow_move {
	enum flow_move_step step;
	uint64_t token;          // of the grace period that is waited for
	size_t cleared;          // octets
	uint32_t capacity;       // of the table, once it is over
	struct flow_index *next; // NULL: none has been prepared
	struct flow_index *former;
};

struct flow_table {
	// Written by the control thread. Workers look keys up in the first one; they put keys into
	// the oldest one and all that follow it.
	struct flow_index *_Atomic index, *_Atomic oldest;
	struct flow_nat *_Atomic nat;       // by number of the entry; NULL: no flow is translated
	_Atomic uint32_t unestablished_max; // of a holder that makes established flows of others go
	_Atomic uint32_t reserve; // chains in the pool that are not for flows: see flow_pool_free()
	// Constant.
	struct flow *entry;     // number 0 is not used: it means none
	uint32_t n_entries_max; // for which there is address space
	uint32_t n_workers;
	struct hash_key hash_key;
	struct rte_rcu_qsbr *qsbr;
	unsigned int reader;
	struct flow_sources sources;
	struct flow_ports ports;    // set with nat
	struct flow_shares *shares; // flow_share.h; NULL: nothing has been counted
	struct flow_inbox *inbox;   // flow_adopt.h; NULL: nothing is adopted
	// Of flow_record.c, by number of the entry. Of the control thread; NULL: not needed yet.
	struct flow_reported *reported;
	struct flow_dropped *dropped_map;
	size_t dropped_filled; // octets that the kernel has cleared
	// The same map once it is filled, which workers write.
	struct flow_dropped *_Atomic dropped;
	pthread_mutex_t reading; // of the thread that is the reader
	// Of the control thread.
	uint32_t n_entries;              // that the capacity needs: numbers are 1 to n_entries
	uint32_t n_entries_open;         // that may have memory
	size_t nat_filled, ports_filled; // octets that the kernel has cleared
	struct flow_move move;
	// Written by the control thread.
	_Atomic uint32_t source_limit;
	atomic_bool strict, pick_up, taken_over;
	_Atomic uint32_t timeout[FLOW_STATE_COUNT]; // ms
	_Atomic uint32_t rounds;  // of flow_tick() in FLOW_ROUND_MS, as the shortest timeout needs
	struct flow_filter flush; // while flush_workers > 0, read by workers
	_Atomic uint32_t flush_serial;
	// Calls of flow_redecide(), and by region the last one with it.
	_Atomic uint64_t redecided, region[FLOW_REGIONS];
	_Atomic uint32_t n_filled; // entries from 1 on that have memory: no other one is touched

	_Atomic uint32_t copy_serial;
	_Atomic uint32_t flush_workers __rte_cache_aligned; // that have not finished
	_Atomic uint32_t copy_workers;
	// The pool of free entries: a stack of chains. Below the count of changes, the number of
	// the first entry of the first chain.
	_Atomic uint64_t pool __rte_cache_aligned;
	atomic_bool asking;           // a worker looks whether a grace period is over
	_Atomic uint32_t pool_chains; // inexact while flows are moved
	_Atomic uint32_t births;      // flows that were added, in 64ths of the capacity

	struct flow_holders holders;
	struct flow_worker worker[FLOW_WORKERS_MAX];
};

// From 0 to n - 1: all alike if hashes are.
static inline uint32_t flow_reduce(uint32_t hash, uint32_t n)
{
	return (uint32_t)((uint64_t)hash * n >> 32);
}

// Where keys are looked up.
static inline struct flow_index *flow_index(const struct flow_table *t)
{
	return atomic_load_explicit(&t->index, memory_order_acquire);
}

// The first one in which keys are.
static inline struct flow_index *flow_index_oldest(const struct flow_table *t)
{
	return atomic_load_explicit(&t->oldest, memory_order_acquire);
}

// The index that replaces this one; NULL: none does.
static inline struct flow_index *flow_index_next(const struct flow_index *x)
{
	return atomic_load_explicit(&x->next, memory_order_acquire);
}

// The two buckets where the flow of a hash may be.
static inline struct bucket *flow_first_bucket(struct flow_index *x, uint32_t hash)
{
	return &x->bucket[flow_reduce(hash, x->n)];
}

// Never the first one: a flow with one bucket alone finds that full much more often.
static inline struct bucket *flow_second_bucket(struct flow_index *x, uint32_t hash)
{
	uint32_t after = 1 + flow_reduce(hash * UINT32_C(0x9e3779b1), x->n - 1);
	uint32_t i = flow_reduce(hash, x->n) + after;

	return &x->bucket[i < x->n ? i : i - x->n];
}

#define TAG_EMPTY 0 // of a slot

static inline uint32_t tag_of(uint32_t hash)
{
	return hash | 1; // never that of an empty slot
}

// The slots whose tag is this, as bits.
static __rte_always_inline unsigned int bucket_match(const struct bucket *b, uint32_t tag)
{
#if defined(__AVX2__) && !defined(__SANITIZE_THREAD__)
	// All in one load. No tag is torn by it, and no later load precedes it (x86).
	__m256i tags = _mm256_load_si256((const __m256i *)b->tag);
	__m256i hits = _mm256_cmpeq_epi32(tags, _mm256_set1_epi32((int)tag));

	atomic_signal_fence(memory_order_acquire);
	return (unsigned int)_mm256_movemask_ps(_mm256_castsi256_ps(hits)) &
	       ((1u << BUCKET_SLOTS) - 1);
#else
	unsigned int hits = 0;

	for (unsigned int i = 0; i < BUCKET_SLOTS; i++)
		hits |= (unsigned int)(atomic_load_explicit(&b->tag[i], memory_order_acquire) ==
				       tag)
			<< i;
	return hits;
#endif
}

// The slots that are in use, as bits.
static inline unsigned int bucket_used(const struct bucket *b)
{
	return bucket_match(b, TAG_EMPTY) ^ ((1u << BUCKET_SLOTS) - 1);
}

static inline struct flow_nat *flow_nat(const struct flow_table *t, const struct flow *f)
{
	return &t->nat[f - t->entry];
}

// The line of a direction at this place.
static inline struct flow_dir *flow_line(const struct flow_table *t, uint32_t place)
{
	return (struct flow_dir *)t->entry + place;
}

static inline struct flow *flow_at_place(const struct flow_table *t, uint32_t place)
{
	return &t->entry[place / FLOW_LINES];
}

static inline uint32_t load(const _Atomic uint32_t *field)
{
	return atomic_load_explicit(field, memory_order_relaxed);
}

static inline void store(_Atomic uint32_t *field, uint32_t value)
{
	atomic_store_explicit(field, value, memory_order_relaxed);
}

static inline void count(_Atomic uint64_t *counter)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
		memory_order_relaxed);
}

static inline enum flow_class flow_word_class(uint32_t word)
{
	return flow_state_info[flow_word_state(word)].class;
}

// The time of a bucket's slots, in 64ths of the capacity: in a full table a flow that is to be
// evicted is about 64 old, however fast others begin, so that an octet has room for four such ages.
static inline uint8_t flow_births(const struct flow_table *t)
{
	return (uint8_t)load(&t->births);
}

// Milliseconds since then; 0 if then is ahead, by another worker's clock.
static inline uint32_t elapsed(uint32_t now, uint32_t then)
{
	return (int32_t)(now - then) > 0 ? now - then : 0;
}

// Milliseconds since the last packet of either direction.
static inline uint32_t flow_idle(const struct flow *f, uint32_t now)
{
	uint32_t idle0 = elapsed(now, atomic_load_explicit(&f->dir[0].seen, memory_order_relaxed));
	uint32_t idle1 = elapsed(now, atomic_load_explicit(&f->dir[1].seen, memory_order_relaxed));

	return RTE_MIN(idle0, idle1);
}

static inline struct ip_addr *flow_source(struct flow *f, uint32_t word)
{
	return &f->key.addr[flow_word_initiator(word)];
}

// The source of a flow has one more, or one fewer, that is not established.
static inline void flow_source_add(struct flow_table *t, struct flow *f, uint32_t word)
{
	if ((word & FLOW_OF_SOURCE) != 0)
		flow_source_cells_add(flow_source_cells(&t->sources, flow_source(f, word)));
}

static inline void flow_source_subtract(struct flow_table *t, struct flow *f, uint32_t word)
{
	if ((word & FLOW_OF_SOURCE) != 0)
		flow_source_cells_subtract(flow_source_cells(&t->sources, flow_source(f, word)));
}

struct flow_port_cells;

// The parts, in the order of the files.

// flow_pool.c. Number of a free entry, or 0.
uint32_t flow_pool_take(struct flow_table *t, struct flow_worker *w);
void flow_pool_give(struct flow_table *t, struct flow_worker *w, uint32_t number);
// Adds the next n entries, a multiple of FLOW_CHAIN, to the pool. False when there are no more.
bool flow_pool_fill(struct flow_table *t, uint32_t n);
// Has free entries beyond the capacity, if it was larger before, be for no flows.
void flow_pool_reserve(struct flow_table *t);
// Free entries in chains, without entries that wait for a grace period.
uint32_t flow_pool_free(const struct flow_table *t);
// Whether all workers have passed on since the token was drawn; false if another thread just asks.
bool flow_grace_over(struct flow_table *t, uint64_t token);
// Puts an entry that is out of the table aside until all workers have passed on.
void flow_pool_retire(struct flow_table *t, struct flow_worker *w, struct flow *f);
// Takes back those for which that has come true.
void flow_pool_reclaim(struct flow_table *t, struct flow_worker *w);

// flow_insert.c. Whether a flow has the key, of this hash, as one of its two.
bool flow_key_is_used(const struct flow_table *t, uint32_t hash, const struct flow_key *key);

// flow_insert.c. Whether the holder may add a flow without evicting another's. It must leave room
// free for the others, so that no number of holders can fill the table.
bool flow_may_grow(struct flow_table *t, uint32_t holder);

// flow_insert.c. Takes an entry for the flow that the packet begins, whose word this is, and puts
// it into the table; its place is *place. cells: of its port. Returns 0; -EEXIST: there is one with
// its key by now, at *place; -EADDRINUSE: another flow has its second key; -ENOSPC: the buckets are
// full; -ENOMEM. held: counts that its holder has for it already, of flow_evict(). decision: as of
// flow_insert().
int flow_entry_add(struct flow_table *t, struct flow_worker *w, const struct flow_pkt *p,
	const struct flow_translation *translation, const struct flow_port_cells *cells,
	uint32_t word, uint32_t holder, uint64_t held, const struct flow_decision *decision,
	uint32_t now, uint32_t *place);

// flow_adopt.c. Adopts some of the flows that wait in the inbox, which is there. Worker 0.
void flow_inbox_take(struct flow_table *t, struct flow_worker *w, uint32_t now);
// Whether there may be adopted flows that the other gateway has no more; whether this is one.
bool flow_adopted_may_be_gone(const struct flow_table *t);
bool flow_adopted_is_gone(const struct flow_table *t, const struct flow *f, uint32_t now);

// flow_insert.c. Worker. Puts the keys of a live flow into the index that replaces another. False:
// its buckets are full.
bool flow_entry_copy(const struct flow_table *t, struct flow *f);

// flow_insert.c. Takes a flow out of the table, at the time now in ms. False if it is out already.
bool flow_unlink(struct flow_table *t, struct flow_worker *w, struct flow *f, enum flow_end end,
	uint32_t now);
// The same, but its holder still counts it: returns the counts to subtract there. 0: it is out
// already.
uint64_t flow_take_out(struct flow_table *t, struct flow_worker *w, struct flow *f,
	enum flow_end end, uint32_t now);

// flow_resize.c. Octets of an array with an item for each of n entries, in pages.
size_t flow_array_len(uint32_t n, size_t item);
// Maps such an array, with address space for all entries that there may ever be. NULL: ENOMEM.
void *flow_array_new(const struct flow_table *t, size_t item);
void flow_array_free(const struct flow_table *t, void *array, size_t item); // NULL is allowed
// An index with empty buckets; NULL: ENOMEM.
struct flow_index *flow_index_new(uint32_t n_buckets, const struct hash_key *key);
void flow_index_free(struct flow_index *x); // NULL is allowed
// The kernel clears the next page of an index that is to replace another. False: none is left.
bool flow_move_fill(struct flow_table *t);
// The same of an array: *filled is how much has been cleared of len octets.
bool flow_pages_fill(void *at, size_t *filled, size_t len);
// Frees all indexes.
void flow_move_free(struct flow_table *t);

// flow_table.c. Sizes of a table for a number of flows of one holder.
struct flow_layout {
	uint32_t n_buckets, n_entries;
};
struct flow_layout flow_layout(uint32_t flows, unsigned int workers);
// Sets that number, as far as entries may have memory.
void flow_capacity_set(struct flow_table *t, uint32_t capacity);

// flow_record.c. Gives the arrays of records room for n entries. Returns 0 or -ENOMEM.
int flow_records_open(struct flow_table *t, uint32_t n);
// Writes the record of a flow that ends, whose word this is, if records are made.
void flow_record_add(struct flow_table *t, struct flow_worker *w, const struct flow *f,
	uint32_t word, enum flow_end end);
// Of a flow that begins in the entry: no packet has been dropped yet.
void flow_dropped_reset(struct flow_table *t, const struct flow *f);
// Control thread. The kernel clears the next part of the counts of drops. False: all is cleared.
bool flow_dropped_fill(struct flow_table *t);
void flow_records_free(struct flow_table *t);

// flow_binding.c. The number of the binding that the worker begins next.
uint32_t flow_binding_number(const struct flow_table *t, const struct flow_worker *w);
// Counts, and records if its rule wants it, that a translated flow begins or has ended.
void flow_binding_add(const struct flow_table *t, struct flow_worker *w, const struct flow *f,
	bool ended, uint32_t now);
void flow_bindings_free(struct flow_table *t);

static inline uint32_t flow_number(const struct flow_table *t, const struct flow *f)
{
	return (uint32_t)(f - t->entry);
}

// flow_insert.c. A reply to a packet with these ends, of the kind of a packet, without its hash.
struct flow_pkt flow_reply_to(const struct flow_pkt *p, const struct ip_ends *to);

// flow_port.c. Where the port of a translated flow is counted: for its source, for its holder, and
// in its block. NULL: nowhere, of all.
struct flow_port_cells {
	struct flow_source_cells source, holder;
	_Atomic uint16_t *block;
};
struct flow_port_cells flow_port_cells(const struct flow_table *t, const struct flow_pkt *p,
	const struct flow_translation *translation, uint32_t holder);
struct flow_port_cells flow_port_cells_of(const struct flow_table *t, const struct flow *f);
// Whether the source, or the holder, has as many ports as the translation allows.
bool flow_port_is_refused(
	const struct flow_port_cells *c, const struct flow_translation *translation);
void flow_port_add(const struct flow_port_cells *c);
void flow_port_subtract(const struct flow_port_cells *c);

// flow_age.c. Evicts a flow of the largest holder, not smaller than this one, so that it gets a
// flow with this hash. False if none may be evicted where it looked. *held: the counts that the
// holder still has for an evicted flow of its own, for the one in its place; else it stays 0.
bool flow_evict(struct flow_table *t, struct flow_worker *w, uint32_t hash, uint32_t holder,
	uint32_t now, uint64_t *held);

// flow_redecide.c. Removes the decisions of a flow, if a call of flow_redecide() after the worker's
// last round began has one of its regions.
void flow_redecide_entry(const struct flow_table *t, const struct flow_worker *w, struct flow *f);

// flow_list.c
bool flow_matches(const struct flow_table *t, const struct flow *f, uint32_t word,
	const struct flow_filter *filter);

// As of flow_table_take_over().
static inline bool flow_table_has_taken_over(const struct flow_table *t)
{
	return atomic_load_explicit(&t->taken_over, memory_order_relaxed);
}

// ct.c. The first word of the flow that a packet begins; 0 with the reason if it cannot.
uint32_t ct_begin(const struct flow_table *t, const struct flow_pkt *p, enum drop *reason);
// ct_tcp.c. Whether the word of a flow of TCP that is adopted has the state that follows from its
// facts.
bool ct_tcp_is_possible(uint32_t word);
// Replaces the word if it is still the old one; keeps the count of the source right.
bool ct_word_change(struct flow_table *t, struct flow *f, uint32_t *old, uint32_t word);
