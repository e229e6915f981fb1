// SPDX-License-Identifier: BSD-3-Clause
// Hash table with two buckets to choose from for each key. Entries never move, so a look-up that
// runs beside any number of insertions and removals misses nothing that is there all the time.
#include "flow_table.h"

#include <errno.h>
#include <netinet/in.h>

#include <rte_pause.h>

// Slots in use of the first bucket from which on the second is considered: fewer for translated
// flows, whose two keys fill buckets.
#define BUCKET_PREFERRED     5
#define BUCKET_PREFERRED_NAT 4

// The entry has one of the keys.
static bool has_key(const struct flow_table *t, const struct flow *f, const struct flow_key *key)
{
	uint32_t word = flow_word(f);

	if ((word & FLOW_REMOVED) != 0)
		return false;
	return flow_key_equal(&f->key, key) ||
	       ((word & FLOW_TRANSLATED) != 0 && flow_key_equal(&flow_nat(t, f)->key, key));
}

// The place of the entry of this key in the bucket; 0: none has it.
static uint32_t bucket_find_place(const struct flow_table *t, const struct bucket *b, uint32_t tag,
	const struct flow_key *key)
{
	for (unsigned int hits = bucket_match(b, tag); hits != 0; hits &= hits - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(hits);
		uint32_t place = atomic_load_explicit(&b->place[i], memory_order_acquire);

		if (has_key(t, flow_at_place(t, place), key))
			return place;
	}
	return 0;
}

static uint32_t place_find(
	const struct flow_table *t, struct flow_index *x, uint32_t hash, const struct flow_key *key)
{
	uint32_t place = bucket_find_place(t, flow_first_bucket(x, hash), tag_of(hash), key);

	return place != 0 ? place
			  : bucket_find_place(t, flow_second_bucket(x, hash), tag_of(hash), key);
}

bool flow_key_is_used(const struct flow_table *t, uint32_t hash, const struct flow_key *key)
{
	return place_find(t, flow_index(t), hash, key) != 0;
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
	uint32_t place = place_find(t, flow_index(t), p->hash, &p->key);
	struct flow_dir *own = flow_line(t, place ^ p->dir ^ p->reversed);

	return place != 0 && is_of_dir(t, own, &p->key) ? flow_of_packet(own, p) : NULL;
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

// The buckets of a key or two, in one index or two, in the order of their addresses, each once.
struct locked {
	unsigned int n;
	struct bucket *bucket[8];
};

static void locked_add(struct locked *l, struct bucket *b)
{
	unsigned int i;

	for (i = 0; i < l->n; i++)
		if (l->bucket[i] == b)
			return;
	for (l->n++; i > 0 && l->bucket[i - 1] > b; i--)
		l->bucket[i] = l->bucket[i - 1];
	l->bucket[i] = b;
}

static void locked_add_flow(
	struct locked *l, struct flow_index *x, const struct flow *f, const struct flow_nat *nat)
{
	locked_add(l, flow_first_bucket(x, f->hash));
	locked_add(l, flow_second_bucket(x, f->hash));
	if (nat != NULL) {
		locked_add(l, flow_first_bucket(x, nat->hash));
		locked_add(l, flow_second_bucket(x, nat->hash));
	}
}

static void buckets_lock(const struct locked *l)
{
	for (unsigned int i = 0; i < l->n; i++)
		bucket_lock(l->bucket[i]);
}

static void buckets_unlock(const struct locked *l)
{
	for (unsigned int i = 0; i < l->n; i++)
		bucket_unlock(l->bucket[i]);
}

static unsigned int bucket_fill(const struct bucket *b)
{
	return (unsigned int)__builtin_popcount(bucket_used(b));
}

// The first bucket unless it is well filled: most look-ups then end there.
static struct bucket *choose_bucket(struct flow_index *x, uint32_t hash, unsigned int preferred)
{
	struct bucket *first = flow_first_bucket(x, hash), *second = flow_second_bucket(x, hash);
	unsigned int fill = bucket_fill(first);

	return fill < preferred || bucket_fill(second) >= fill ? first : second;
}

// Under its lock, if it has room: makes the entry visible to look-ups by one of its keys.
static void bucket_set(struct bucket *b, uint32_t hash, uint32_t place)
{
	unsigned int i = (unsigned int)__builtin_ctz(bucket_match(b, TAG_EMPTY));

	atomic_store_explicit(&b->place[i], place, memory_order_release);
	atomic_store_explicit(&b->tag[i], tag_of(hash), memory_order_release);
}

// The number of the slot of a key; BUCKET_SLOTS: it has none here.
static unsigned int bucket_slot(const struct bucket *b, uint32_t tag, uint32_t place)
{
	for (unsigned int hits = bucket_match(b, tag); hits != 0; hits &= hits - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(hits);

		if (atomic_load_explicit(&b->place[i], memory_order_acquire) == place)
			return i;
	}
	return BUCKET_SLOTS;
}

static void bucket_clear(struct bucket *b, uint32_t tag, uint32_t place, bool *found)
{
	unsigned int i;

	if (*found)
		return;
	bucket_lock(b);
	i = bucket_slot(b, tag, place);
	*found = i < BUCKET_SLOTS;
	if (*found)
		atomic_store_explicit(&b->tag[i], TAG_EMPTY, memory_order_relaxed);
	bucket_unlock(b);
}

static void slot_clear(struct flow_table *t, uint32_t hash, uint32_t place)
{
	struct flow_index *x = flow_index_oldest(t);

	for (; x != NULL; x = flow_index_next(x)) {
		bool found = false;

		bucket_clear(flow_first_bucket(x, hash), tag_of(hash), place, &found);
		bucket_clear(flow_second_bucket(x, hash), tag_of(hash), place, &found);
	}
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

static void entry_init(struct flow *f, const struct flow_pkt *p, uint32_t holder, uint32_t now)
{
	f->key = p->key;
	memset(f->tcp, 0, sizeof(f->tcp));
	memset(f->scale, 0, sizeof(f->scale));
	for (unsigned int dir = 0; dir < 2; dir++) {
		memset(&f->dir[dir], 0, sizeof(f->dir[dir]));
		f->dir[dir].key = brief_of(&p->key, p->v4);
		atomic_store_explicit(&f->dir[dir].seen, now, memory_order_relaxed);
	}
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
static void entry_begin(struct flow *f, uint32_t word)
{
	atomic_store_explicit(&f->word, word, memory_order_release);
	for (unsigned int dir = 0; dir < 2; dir++) // nobody else has it yet
		atomic_store_explicit(&f->dir[dir].by,
			(uint64_t)flow_word_copy(word, dir) << FLOW_SHOWN_SHIFT,
			memory_order_relaxed);
}

// Under the locks: whether there is room for the second key as well.
static bool has_room(const struct bucket *first, const struct bucket *second)
{
	return bucket_fill(first) + (first == second) < BUCKET_SLOTS &&
	       (second == NULL || bucket_fill(second) < BUCKET_SLOTS);
}

// Where the keys of a flow go in an index.
struct slots {
	struct bucket *first, *second; // NULL: there is no second key
};

// Under the locks. Returns 0; otherwise as link_entry().
static int keys_check(const struct flow_table *t, struct flow_index *x, const struct flow *f,
	const struct flow_nat *nat, uint32_t *place)
{
	*place = place_find(t, x, f->hash, &f->key);
	if (*place != 0)
		return -EEXIST;
	return nat != NULL && place_find(t, x, nat->hash, &nat->key) != 0 ? -EADDRINUSE : 0;
}

// Under the locks. False: the buckets are full.
static bool slots_choose(
	struct slots *s, struct flow_index *x, const struct flow *f, const struct flow_nat *nat)
{
	s->first = choose_bucket(x, f->hash, nat != NULL ? BUCKET_PREFERRED_NAT : BUCKET_PREFERRED);
	s->second = nat != NULL ? choose_bucket(x, nat->hash, BUCKET_PREFERRED_NAT) : NULL;
	return has_room(s->first, s->second);
}

static void slots_set(const struct slots *s, const struct flow_table *t, const struct flow *f,
	const struct flow_nat *nat)
{
	bucket_set(s->first, f->hash, first_place(t, f));
	if (nat != NULL)
		bucket_set(s->second, nat->hash, second_place(t, f));
}

// Puts an entry into the table. Returns 0; -EEXIST: there is one with its key by now, at *place;
// -EADDRINUSE: another flow has its second key; -ENOSPC: the buckets are full.
static int link_entry(struct flow_table *t, struct flow *f, uint32_t word, uint32_t *place)
{
	const struct flow_nat *nat = (word & FLOW_TRANSLATED) != 0 ? flow_nat(t, f) : NULL;
	struct flow_index *x = flow_index_oldest(t), *next = flow_index_next(x);
	struct locked locked = {.n = 0};
	struct slots slots, more;
	int rc;

	locked_add_flow(&locked, x, f, nat);
	if (unlikely(next != NULL))
		locked_add_flow(&locked, next, f, nat);
	buckets_lock(&locked);
	rc = keys_check(t, x, f, nat, place);
	if (unlikely(next != NULL) && rc == 0)
		rc = keys_check(t, next, f, nat, place);
	if (rc == 0 && (!slots_choose(&slots, x, f, nat) ||
			       (unlikely(next != NULL) && !slots_choose(&more, next, f, nat))))
		rc = -ENOSPC;
	if (rc == 0) {
		*place = first_place(t, f);
		entry_begin(f, word);
		slots_set(&slots, t, f, nat);
		if (unlikely(next != NULL))
			slots_set(&more, t, f, nat);
	}
	buckets_unlock(&locked);
	return rc;
}

static bool has_slot(struct flow_index *x, uint32_t hash, uint32_t place)
{
	return bucket_slot(flow_first_bucket(x, hash), tag_of(hash), place) < BUCKET_SLOTS ||
	       bucket_slot(flow_second_bucket(x, hash), tag_of(hash), place) < BUCKET_SLOTS;
}

// A worker that removes the flow meanwhile locks the buckets later, and finds it there; or has done
// so before, and it is marked.
bool flow_entry_copy(const struct flow_table *t, struct flow *f)
{
	struct flow_index *x = flow_index_next(flow_index_oldest(t));
	const struct flow_nat *nat = (flow_word(f) & FLOW_TRANSLATED) != 0 ? flow_nat(t, f) : NULL;
	struct locked locked = {.n = 0};
	struct slots slots;
	bool wanted, room;

	locked_add_flow(&locked, x, f, nat);
	buckets_lock(&locked);
	wanted = flow_word_live(flow_word(f)) && !has_slot(x, f->hash, first_place(t, f));
	room = slots_choose(&slots, x, f, nat);
	if (wanted && room)
		slots_set(&slots, t, f, nat);
	buckets_unlock(&locked);
	return room || !wanted;
}

bool flow_unlink(struct flow_table *t, struct flow_worker *w, struct flow *f, enum flow_end end,
	uint32_t now)
{
	uint32_t word = atomic_fetch_or_explicit(&f->word, FLOW_REMOVED, memory_order_acq_rel);
	uint64_t held = FLOW_HELD;

	if ((word & FLOW_REMOVED) != 0)
		return false;
	if ((word & FLOW_COUNTED) != 0) {
		flow_source_subtract(t, f, word);
		held += FLOW_UNESTABLISHED;
	}
	flow_holder_subtract(&t->holders, f->holder, held);
	slot_clear(t, f->hash, first_place(t, f));
	if ((word & FLOW_TRANSLATED) != 0) {
		const struct flow_port_cells cells = flow_port_cells_of(t, f);

		slot_clear(t, flow_nat(t, f)->hash, second_place(t, f));
		flow_port_subtract(&cells);
		flow_binding_add(t, w, f, true, now);
	}
	flow_record_add(t, w, f, word, end);
	flow_pool_retire(t, w, f);
	return true;
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

int flow_entry_add(struct flow_table *t, struct flow_worker *w, const struct flow_pkt *p,
	const struct flow_translation *translation, const struct flow_port_cells *cells,
	uint32_t word, uint32_t holder, uint32_t now, uint32_t *place)
{
	uint32_t number = flow_pool_take(t, w);
	struct flow *f = &t->entry[number];
	int rc;

	if (number == 0)
		return -ENOMEM;
	entry_init(f, p, holder, now);
	flow_dropped_reset(t, f);
	if (translation != NULL) {
		entry_translate(t, w, f, p, translation);
		word |= FLOW_TRANSLATED;
	}
	flow_source_add(t, f, word);
	flow_holder_add(&t->holders, holder, FLOW_HELD + FLOW_UNESTABLISHED);
	if (translation != NULL)
		flow_port_add(cells);
	rc = link_entry(t, f, word | FLOW_COUNTED, place);
	if (rc == 0)
		return 0;
	flow_source_subtract(t, f, word);
	flow_holder_subtract(&t->holders, holder, FLOW_HELD + FLOW_UNESTABLISHED);
	if (translation != NULL)
		flow_port_subtract(cells);
	flow_pool_give(t, w, number); // it was never visible
	return rc;
}

enum drop flow_insert(struct flow_table *t, unsigned int worker, struct flow_pkt *p,
	const struct flow_translation *translation, uint32_t holder, uint32_t now,
	struct flow **flow)
{
	struct flow_worker *w = &t->worker[worker];
	uint32_t limit = atomic_load_explicit(&t->source_limit, memory_order_relaxed);
	struct flow_port_cells cells = {.block = NULL};
	struct flow_dir *own;
	enum drop reason;
	uint32_t word = ct_begin(t, p, &reason), place = 0;
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

	if (!flow_may_grow(t, holder) && !flow_evict(t, w, p->hash, holder, now))
		return flow_refuse(w, DROP_FLOW_TABLE_FULL);
	rc = flow_entry_add(t, w, p, translation, &cells, word, holder, now, &place);
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
