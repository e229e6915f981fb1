// SPDX-License-Identifier: BSD-3-Clause
// Hash table with two buckets to choose from for each key. Entries never move, so a look-up that
// runs beside any number of insertions and removals misses nothing that is there all the time.
#include "flow_bucket.h"

#include <errno.h>
#include <netinet/in.h>

// The entry has one of the keys.
static bool has_key(const struct flow_table *t, const struct flow *f, const struct flow_key *key)
{
	uint32_t word = flow_word(f);

	if ((word & FLOW_REMOVED) != 0)
		return false;
	return flow_key_equal(&f->key, key) ||
	       ((word & FLOW_TRANSLATED) != 0 && flow_key_equal(&flow_nat(t, f)->key, key));
}

// The place of the entry of this key among the slots of the bucket with its tag.
static __rte_noinline uint32_t hits_find_place(const struct flow_table *t, const struct bucket *b,
	unsigned int hits, const struct flow_key *key)
{
	for (; hits != 0; hits &= hits - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(hits);
		uint32_t place = atomic_load_explicit(&b->place[i], memory_order_acquire);

		if (has_key(t, flow_at_place(t, place), key))
			return place;
	}
	return 0;
}

// The same in the whole bucket; 0: none has it.
static inline uint32_t bucket_find_place(const struct flow_table *t, const struct bucket *b,
	uint32_t tag, const struct flow_key *key)
{
	const unsigned int hits = bucket_match(b, tag);

	return likely(hits == 0) ? 0 : hits_find_place(t, b, hits, key);
}

static inline uint32_t place_find(const struct flow_table *t, const struct home *home,
	uint32_t hash, const struct flow_key *key)
{
	uint32_t place = bucket_find_place(t, home->first, tag_of(hash), key);

	return place != 0 ? place : bucket_find_place(t, home->second, tag_of(hash), key);
}

bool flow_key_is_used(const struct flow_table *t, uint32_t hash, const struct flow_key *key)
{
	const struct home home = home_of(flow_index(t), hash);

	return place_find(t, &home, hash, key) != 0;
}

// Whether packets of the direction have the key.
static bool is_of_dir(const struct flow_table *t, struct flow_dir *own, const struct flow_key *key)
{
	struct flow *f = flow_of_dir(own);
	bool second = (flow_word(f) & FLOW_TRANSLATED) != 0 &&
		      flow_dir_number(own) != flow_nat(t, f)->first;

	return flow_key_equal(second ? &flow_nat(t, f)->key : &f->key, key);
}

struct flow *flow_find(const struct flow_table *t, struct flow_pkt *p)
{
	const struct home home = home_of(flow_index(t), p->hash);
	uint32_t place = place_find(t, &home, p->hash, &p->key);
	struct flow_dir *own = flow_line(t, place ^ p->dir ^ p->reversed);

	if (place != 0 && is_of_dir(t, own, &p->key))
		return flow_of_packet(own, p);
	flow_pkt_leave(p);
	return NULL;
}

static void slot_clear(struct flow_table *t, uint32_t hash, uint32_t place)
{
	struct flow_index *x = flow_index_oldest(t);

	for (; x != NULL; x = flow_index_next(x))
		if (!bucket_clear(flow_first_bucket(x, hash), tag_of(hash), place))
			bucket_clear(flow_second_bucket(x, hash), tag_of(hash), place);
}

// The place of the flow in slots of its first and second key.
static uint32_t first_place(const struct flow_table *t, const struct flow *f)
{
	return flow_number(t, f) * FLOW_LINES +
	       offsetof(struct flow, dir) / sizeof(struct flow_dir);
}

static uint32_t second_place(const struct flow_table *t, const struct flow *f)
{
	const struct flow_nat *nat = flow_nat(t, f);

	return first_place(t, f) ^ nat->sender ^ !nat->first;
}

static struct flow_brief brief_of(const struct flow_key *key, bool v4)
{
	return v4 ? flow_brief_of(key) : FLOW_BRIEF_V6;
}

// Nobody else has the entry yet.
static void dir_init(struct flow_dir *fd, uint16_t shown, uint32_t now)
{
	memset(fd, 0, sizeof(*fd));
	atomic_store_explicit(&fd->by, (uint64_t)shown << FLOW_SHOWN_SHIFT, memory_order_relaxed);
	atomic_store_explicit(&fd->seen, now, memory_order_relaxed);
}

// The same: as flow_decision_set(), without its atomic operations.
static void dir_decide(struct flow_dir *fd, const struct flow_decision *d)
{
	const uint64_t by = atomic_load_explicit(&fd->by, memory_order_relaxed);

	atomic_store_explicit(&fd->mark, d->mark, memory_order_relaxed);
	atomic_store_explicit(&fd->by, by | d->by.all, memory_order_relaxed);
	atomic_store_explicit(&fd->egress, d->egress, memory_order_relaxed);
	atomic_store_explicit(&fd->ingress, d->ingress, memory_order_relaxed);
}

// All but the word, without which the entry is in no list.
static void entry_init(struct flow *f, const struct flow_pkt *p, uint32_t word, uint32_t holder,
	const struct flow_decision *decision, uint32_t now)
{
	const struct flow_brief brief = brief_of(&p->key, p->v4);

	f->key = p->key;
	memset(f->tcp, 0, sizeof(f->tcp));
	memset(f->scale, 0, sizeof(f->scale));
	for (unsigned int dir = 0; dir < 2; dir++) {
		dir_init(&f->dir[dir], flow_word_copy(word, dir), now);
		f->dir[dir].key = brief;
	}
	if (decision != NULL)
		dir_decide(&f->dir[p->dir], decision);
	memset(f->syn, 0, sizeof(f->syn));
	f->reported = 0;
	store(&f->repeated, 0);
	f->hash = p->hash;
	f->holder = holder;
	atomic_store_explicit(&f->created, now, memory_order_relaxed);
}

#define ASKER_OFF (offsetof(struct flow_key, asker) - offsetof(struct flow_key, port))

struct flow_pkt flow_reply_to(const struct flow_pkt *p, const struct ip_ends *to)
{
	const struct flow_key icmp = {.icmp_type = UINT8_MAX, .icmp_code = UINT8_MAX};
	struct flow_pkt reply = {.key.proto = p->key.proto, .v4 = p->v4};

	flow_pkt_set_ends(&reply, to->dst, to->dst_port, to->src, to->src_port);
	// In one piece, as there.
	reply.key.q[4] |= p->key.q[4] & icmp.q[4];
	if (p->key.asker != 0)
		reply.key.q[4] |= (uint64_t)(1 + !reply.dir) << 8 * ASKER_OFF;
	return reply;
}

// Sets the second key of a flow that the packet begins, and prefetches that of the next entry.
static void entry_translate(struct flow_table *t, const struct flow_worker *w, struct flow *f,
	const struct flow_pkt *p, const struct flow_translation *translation)
{
	struct flow_pkt reply = flow_reply_to(p, &translation->to);

	reply.hash = translation->hash;
	if (reply.hash == 0)
		flow_lookup_start(t, &reply);
	if (w->n_free > 0)
		__builtin_prefetch(flow_nat(t, &t->entry[w->free[w->n_free - 1]]), 1);
	*flow_nat(t, f) = (struct flow_nat){.key = reply.key,
		.hash = reply.hash,
		.rule = {translation->rule[0], translation->rule[1]},
		.sender = reply.dir,
		.first = p->dir,
		.logged = translation->logged,
		.of_port = translation->of_port,
		.binding = flow_binding_number(t, w),
		.towards = translation->towards};
	f->dir[!p->dir].key = p->v4 ? flow_brief_of(&reply.key) : FLOW_BRIEF_V6_SECOND;
}

// Makes the entry live: its word is complete before a look-up finds it.
static inline void entry_begin(struct flow *f, uint32_t word)
{
	atomic_store_explicit(&f->word, word, memory_order_release);
}

// Under the locks: whether there is room for the second key as well.
static bool has_room(const struct bucket *first, const struct bucket *second)
{
	return bucket_fill(first) + (first == second) < BUCKET_SLOTS &&
	       (second == NULL || bucket_fill(second) < BUCKET_SLOTS);
}

// The buckets of a flow's keys in an index, and those of them that the keys go to.
struct slots {
	const struct flow_nat *nat; // NULL: there is no second key
	struct home home, nat_home;
	struct bucket *first, *second; // NULL: there is no second key
};

static inline struct slots slots_begin(struct locked *locked, struct flow_index *x,
	const struct flow *f, const struct flow_nat *nat)
{
	struct slots s = {.nat = nat, .home = home_of(x, f->hash)};

	locked_add_home(locked, &s.home);
	if (nat != NULL) {
		s.nat_home = home_of(x, nat->hash);
		locked_add_home(locked, &s.nat_home);
	}
	return s;
}

// Under the locks. Returns 0; otherwise as link_entry().
static inline int slots_check(
	const struct slots *s, const struct flow_table *t, const struct flow *f, uint32_t *place)
{
	*place = place_find(t, &s->home, f->hash, &f->key);
	if (*place != 0)
		return -EEXIST;
	return s->nat != NULL && place_find(t, &s->nat_home, s->nat->hash, &s->nat->key) != 0
		       ? -EADDRINUSE
		       : 0;
}

// Under the locks. False: the buckets are full.
static inline bool slots_choose(struct slots *s)
{
	s->first =
		choose_bucket(&s->home, s->nat != NULL ? BUCKET_PREFERRED_NAT : BUCKET_PREFERRED);
	s->second = s->nat != NULL ? choose_bucket(&s->nat_home, BUCKET_PREFERRED_NAT) : NULL;
	return has_room(s->first, s->second);
}

static inline void slots_set(
	const struct slots *s, const struct flow_table *t, const struct flow *f)
{
	const uint8_t born = flow_births(t);

	bucket_set(s->first, f->hash, first_place(t, f), born);
	if (s->nat != NULL)
		bucket_set(s->second, s->nat->hash, second_place(t, f), born);
}

// Puts an entry into one index or two. Returns as link_entry().
static __rte_noinline int link_in(struct flow_table *t, struct flow_index *const x[],
	unsigned int n, struct flow *f, const struct flow_nat *nat, uint32_t word, uint32_t *place)
{
	struct locked locked = {.n = 0};
	struct slots slots[2];
	int rc = 0;

	for (unsigned int i = 0; i < n; i++)
		slots[i] = slots_begin(&locked, x[i], f, nat);
	buckets_lock(&locked);
	for (unsigned int i = 0; i < n && rc == 0; i++)
		rc = slots_check(&slots[i], t, f, place);
	for (unsigned int i = 0; i < n && rc == 0; i++)
		rc = slots_choose(&slots[i]) ? 0 : -ENOSPC;
	if (rc == 0) {
		*place = first_place(t, f);
		entry_begin(f, word);
		for (unsigned int i = 0; i < n; i++)
			slots_set(&slots[i], t, f);
	}
	buckets_unlock(&locked);
	return rc;
}

// The same of a flow of one key in one index, under the lock of the first bucket alone: whoever
// puts the key into either bucket has that. -EAGAIN: that bucket is well filled, so that the second
// one is considered.
static inline int link_first(
	struct flow_table *t, struct flow_index *x, struct flow *f, uint32_t word, uint32_t *place)
{
	const struct home home = home_of(x, f->hash);
	int rc = -EAGAIN;

	bucket_lock(home.first);
	*place = place_find(t, &home, f->hash, &f->key);
	if (unlikely(*place != 0)) {
		rc = -EEXIST;
	} else if (likely(bucket_fill(home.first) < BUCKET_PREFERRED)) {
		*place = first_place(t, f);
		entry_begin(f, word);
		bucket_set(home.first, f->hash, *place, flow_births(t));
		rc = 0;
	}
	bucket_unlock(home.first);
	return rc;
}

// Puts an entry into the table. Returns 0; -EEXIST: there is one with its key by now, at *place;
// -EADDRINUSE: another flow has its second key; -ENOSPC: the buckets are full.
static inline int link_entry(struct flow_table *t, struct flow *f, uint32_t word, uint32_t *place)
{
	const struct flow_nat *nat = (word & FLOW_TRANSLATED) != 0 ? flow_nat(t, f) : NULL;
	struct flow_index *oldest = flow_index_oldest(t);
	struct flow_index *const x[2] = {oldest, flow_index_next(oldest)};
	int rc = -EAGAIN;

	if (likely(nat == NULL && x[1] == NULL))
		rc = link_first(t, oldest, f, word, place);
	return likely(rc != -EAGAIN) ? rc
				     : link_in(t, x, x[1] != NULL ? 2 : 1, f, nat, word, place);
}

static bool has_slot(const struct home *home, uint32_t hash, uint32_t place)
{
	return bucket_slot(home->first, tag_of(hash), place) < BUCKET_SLOTS ||
	       bucket_slot(home->second, tag_of(hash), place) < BUCKET_SLOTS;
}

// A worker that removes the flow meanwhile locks the buckets later, and finds it there; or has done
// so before, and it is marked.
bool flow_entry_copy(const struct flow_table *t, struct flow *f)
{
	struct flow_index *x = flow_index_next(flow_index_oldest(t));
	const struct flow_nat *nat = (flow_word(f) & FLOW_TRANSLATED) != 0 ? flow_nat(t, f) : NULL;
	struct locked locked = {.n = 0};
	struct slots slots = slots_begin(&locked, x, f, nat);
	bool wanted, room;

	buckets_lock(&locked);
	wanted = flow_word_live(flow_word(f)) && !has_slot(&slots.home, f->hash, first_place(t, f));
	room = slots_choose(&slots);
	if (wanted && room)
		slots_set(&slots, t, f);
	buckets_unlock(&locked);
	return room || !wanted;
}

uint64_t flow_take_out(struct flow_table *t, struct flow_worker *w, struct flow *f,
	enum flow_end end, uint32_t now)
{
	uint32_t word = atomic_fetch_or_explicit(&f->word, FLOW_REMOVED, memory_order_acq_rel);
	uint64_t held = FLOW_HELD;

	if ((word & FLOW_REMOVED) != 0)
		return 0;
	if ((word & FLOW_COUNTED) != 0) {
		flow_source_subtract(t, f, word);
		held += FLOW_UNESTABLISHED;
	}
	slot_clear(t, f->hash, first_place(t, f));
	if ((word & FLOW_TRANSLATED) != 0) {
		const struct flow_port_cells cells = flow_port_cells_of(t, f);

		slot_clear(t, flow_nat(t, f)->hash, second_place(t, f));
		flow_port_subtract(&cells);
		flow_binding_add(t, w, f, true, now);
	}
	flow_record_add(t, w, f, word, end);
	flow_pool_retire(t, w, f);
	return held;
}

bool flow_unlink(struct flow_table *t, struct flow_worker *w, struct flow *f, enum flow_end end,
	uint32_t now)
{
	uint64_t held = flow_take_out(t, w, f, end, now);

	if (held != 0)
		flow_holder_subtract(&t->holders, f->holder, held);
	return held != 0;
}

static enum drop flow_refuse(struct flow_worker *w, enum drop reason)
{
	count(&w->counters.refused[reason]);
	return reason;
}

bool flow_may_grow(struct flow_table *t, uint32_t holder)
{
	return flow_holder_count(&t->holders, holder).flows <
	       (uint64_t)flow_pool_free(t) * FLOW_HOLDER_SHARE;
}

static void birth_count(struct flow_table *t, struct flow_worker *w)
{
	if (w->births_left-- > 0)
		return;
	w->births_left = load(&t->unestablished_max) / 4;
	atomic_fetch_add_explicit(&t->births, 1, memory_order_relaxed);
}

int flow_entry_add(struct flow_table *t, struct flow_worker *w, const struct flow_pkt *p,
	const struct flow_translation *translation, const struct flow_port_cells *cells,
	uint32_t word, uint32_t holder, uint64_t held, const struct flow_decision *decision,
	uint32_t now, uint32_t *place)
{
	const uint64_t holds = FLOW_HELD + FLOW_UNESTABLISHED;
	uint32_t number = flow_pool_take(t, w);
	struct flow *f = &t->entry[number];
	int rc;

	if (held != holds)
		flow_holder_add(&t->holders, holder, holds - held);
	if (number == 0) {
		flow_holder_subtract(&t->holders, holder, holds);
		return -ENOMEM;
	}
	word |= translation != NULL ? FLOW_COUNTED | FLOW_TRANSLATED : FLOW_COUNTED;
	entry_init(f, p, word, holder, decision, now);
	flow_dropped_reset(t, f);
	if (translation != NULL)
		entry_translate(t, w, f, p, translation);
	flow_source_add(t, f, word);
	if (translation != NULL)
		flow_port_add(cells);
	rc = link_entry(t, f, word, place);
	if (rc == 0) {
		birth_count(t, w);
		return 0;
	}
	flow_source_subtract(t, f, word);
	flow_holder_subtract(&t->holders, holder, holds);
	if (translation != NULL)
		flow_port_subtract(cells);
	flow_pool_give(t, w, number); // it was never visible
	return rc;
}

enum drop flow_insert(struct flow_table *t, unsigned int worker, struct flow_pkt *p,
	const struct flow_translation *translation, uint32_t holder, uint32_t now,
	const struct flow_decision *decision, struct flow **flow)
{
	struct flow_worker *w = &t->worker[worker];
	uint32_t limit = atomic_load_explicit(&t->source_limit, memory_order_relaxed);
	struct flow_port_cells cells = {.block = NULL};
	struct flow_dir *own;
	enum drop reason;
	uint32_t word = ct_begin(t, p, &reason), place = 0;
	uint64_t held = 0;
	int rc;

	// The ends of a request before its translation are not known.
	if (word == 0 || (translation != NULL && p->icmp_reply))
		return flow_refuse(w, reason);
	if (limit != 0 && flow_source_cells_count(
				  flow_source_cells(&t->sources, &p->key.addr[p->dir])) >= limit)
		return flow_refuse(w, DROP_FLOW_SOURCE_LIMIT);
	if (translation != NULL) {
		cells = flow_port_cells(t, p, translation, holder);
		if (flow_port_is_refused(&cells, translation))
			return flow_refuse(w, DROP_NAT_LIMIT);
	}

	if (limit != 0)
		word |= FLOW_OF_SOURCE;

	if (!flow_may_grow(t, holder) && !flow_evict(t, w, p->hash, holder, now, &held))
		return flow_refuse(w, DROP_FLOW_TABLE_FULL);
	rc = flow_entry_add(
		t, w, p, translation, &cells, word, holder, held, decision, now, &place);
	own = flow_line(t, place ^ p->dir);
	*flow = flow_of_dir(own);
	switch (rc) {
	case 0:
		count(&w->counters.created);
		if (translation != NULL)
			flow_binding_add(t, w, *flow, false, now);
		return DROP_NONE;
	case -EEXIST:
		// Of a translated flow replies have another key.
		if (!is_of_dir(t, own, &p->key))
			return flow_refuse(w, DROP_CT_INVALID);
		flow_of_packet(own, p);
		return FLOW_EXISTS;
	case -EADDRINUSE:
		return translation->towards != 0 ? FLOW_PORT_TAKEN : flow_refuse(w, DROP_NAT_PORTS);
	default:
		return flow_refuse(w, DROP_FLOW_TABLE_FULL);
	}
}
