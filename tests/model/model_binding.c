// SPDX-License-Identifier: BSD-3-Clause
// Entries with one key or two: link_entry() and flow_unlink() of flow_insert.c, with all locks of
// buckets. Two workers insert flows with an equal key, or that share a bucket, while a third
// removes a flow, looks one up, copies one into the next index, or announces that. Proves for all
// interleavings: of equal keys one is in the table, a flow in the table is found by each of its
// keys once, one that is not has no slot, and no look-up returns a flow that does not have the key.
#include "flow_insert.c"

#include <netinet/in.h>

#include "explore.h"

#define BUCKETS 8
#define FLOWS   3 // entries 1 to 3

enum act {
	NOTHING,
	INSERT,
	INSERT_LEFT, // by a worker that puts keys into the next index alone
	REMOVE,
	FIND,
	COPY,
	ANNOUNCE, // that the next index replaces this one
};

// The keys of each flow, by number; the action of each thread, and its flow.
struct scenario {
	uint8_t first[FLOWS], second[FLOWS]; // 0: it has no second key
	bool before[FLOWS];                  // it is in the table at the start
	struct {
		enum act act;
		uint8_t flow;
	} thread[EXPLORE_THREADS];
	struct {
		uint8_t bucket, slots; // in use by other flows
	} filled;
	bool grows; // the next index replaces this one, where those from the start are not
};

static const struct scenario scenarios[] = {
	// The same first key; the same second key; a second key that is being given up.
	{{1, 1, 2}, {4, 5, 6}, {0}, {{INSERT, 0}, {INSERT, 1}, {FIND, 0}}},
	{{1, 2, 3}, {4, 4, 6}, {0}, {{INSERT, 0}, {INSERT, 1}, {FIND, 0}}},
	{{1, 2, 3}, {4, 4, 4}, {0, 0, true}, {{INSERT, 0}, {INSERT, 1}, {REMOVE, 2}}},
	{{1, 2, 3}, {4, 5, 4}, {0, 0, true}, {{INSERT, 0}, {FIND, 2}, {REMOVE, 2}}},
	// Second keys that share a bucket, which is the first of both, or not.
	{{1, 2, 3}, {4, 6, 5}, {0}, {{INSERT, 0}, {INSERT, 1}, {FIND, 0}}},
	{{1, 2, 3}, {4, 5, 6}, {0, 0, true}, {{INSERT, 0}, {INSERT, 1}, {REMOVE, 2}},
		.filled = {6, BUCKET_PREFERRED}},
	{{1, 2, 3}, {4, 5, 6}, {0, 0, true}, {{INSERT, 0}, {REMOVE, 2}, {REMOVE, 2}}},
	// The same while the table grows.
	{{1, 1, 2}, {4, 5, 6}, {0}, {{INSERT, 0}, {INSERT, 1}}, .grows = true},
	{{1, 2, 3}, {4, 5, 6}, {0, 0, true}, {{NOTHING, 0}, {COPY, 2}, {REMOVE, 2}}, .grows = true},
	{{1, 2, 3}, {4, 4, 6}, {0, 0, true}, {{INSERT, 0}, {COPY, 2}}, .grows = true},
	{{1, 2, 3}, {4, 5, 4}, {0, 0, true}, {{INSERT, 0}, {NOTHING, 0}, {REMOVE, 2}},
		.grows = true},
	// One key each. The same: while the third is there, the first bucket is well filled, and
	// the other may be chosen.
	{{1, 1, 7}, {0}, {0, 0, true}, {{INSERT, 0}, {INSERT, 1}, {REMOVE, 2}},
		.filled = {0, BUCKET_PREFERRED - 1}},
	// Two keys whose first bucket is the same, and whose second one is not.
	{{1, 7, 2}, {0}, {0}, {{INSERT, 0}, {INSERT, 1}, {FIND, 0}}},
	{{1, 7, 7}, {0}, {0, 0, true}, {{INSERT, 0}, {INSERT, 1}, {REMOVE, 2}}},
	// The only key of one flow is the second key of another one, which prefers its other
	// bucket, or not.
	{{4, 1, 3}, {0, 4, 0}, {0}, {{INSERT, 0}, {INSERT, 1}, {FIND, 0}}},
	{{4, 1, 3}, {0, 4, 0}, {0}, {{INSERT, 0}, {INSERT, 1}},
		.filled = {6, BUCKET_PREFERRED_NAT}},
	{{4, 1, 3}, {0, 4, 0}, {0, true, 0}, {{INSERT, 0}, {REMOVE, 1}, {FIND, 1}}},
	// One key each while the table grows.
	{{1, 1, 2}, {0}, {0}, {{INSERT, 0}, {INSERT, 1}}, .grows = true},
	{{1, 2, 7}, {0}, {0, 0, true}, {{INSERT, 0}, {COPY, 2}, {REMOVE, 2}}, .grows = true},
	{{4, 1, 3}, {0, 4, 0}, {0}, {{INSERT, 0}, {INSERT, 1}}, .grows = true},
	// The same while this becomes known, and when some put keys into both and others into the
	// next alone.
	{{1, 1, 2}, {0}, {0}, {{INSERT, 0}, {INSERT, 1}, {ANNOUNCE, 0}}},
	{{1, 7, 2}, {0}, {0}, {{INSERT, 0}, {INSERT, 1}, {ANNOUNCE, 0}}},
	{{1, 1, 2}, {0}, {0}, {{INSERT, 0}, {INSERT_LEFT, 1}}, .grows = true},
	{{1, 7, 2}, {0}, {0}, {{INSERT, 0}, {INSERT_LEFT, 1}}, .grows = true},
};

union buckets {
	struct flow_index index;
	struct {
		char head[sizeof(struct flow_index)];
		struct bucket bucket[BUCKETS];
	};
};

static struct model {
	struct flow flow[FLOWS];
	struct flow_nat nat[FLOWS];
	union buckets now, next;
	struct flow_worker worker;
	uint8_t inserted[FLOWS], removed[FLOWS];
} * model;

static struct flow_table *table;

unsigned int model_scenarios(void)
{
	return RTE_DIM(scenarios);
}

unsigned int model_threads(unsigned int scenario)
{
	(void)scenario;
	return EXPLORE_THREADS;
}

static struct flow_key key_of(unsigned int number)
{
	struct flow_key key = {.proto = IPPROTO_UDP};

	key.addr[0].b[15] = (uint8_t)number;
	return key;
}

// Of keys 1 to 7: their buckets are 0 and 1, 2 and 3, 4 and 5, 6 and 7, 7 and 0, 6 and 5, 0 and 3.
static uint32_t hash_of(unsigned int number)
{
	static const uint32_t hash[] = {0, 0x00009010, 0x4000d020, 0x80002030, 0xc0006040,
		0xe0006050, 0xc0004060, 0x000000f0};

	return hash[number];
}

static unsigned int keys_of(const struct scenario *s, unsigned int i)
{
	return s->second[i] != 0 ? 2 : 1;
}

// x: the first index that keys are put into.
static void insert(const struct scenario *s, unsigned int i, union buckets *x)
{
	const uint32_t word = keys_of(s, i) == 2 ? FLOW_TRANSLATED | 1 : 1;
	uint32_t place;

	table->oldest = &x->index; // which is read before the first step
	model->inserted[i] = link_entry(table, &model->flow[i], word, &place) == 0;
}

// By its last key.
static void find(const struct scenario *s, unsigned int i)
{
	const bool second = keys_of(s, i) == 2;
	const struct flow_key key = second ? model->nat[i].key : model->flow[i].key;
	const uint32_t hash = second ? model->nat[i].hash : model->flow[i].hash;
	const struct home home = home_of(&model->now.index, hash);
	const uint32_t place = place_find(table, &home, hash, &key);
	const struct flow *f = flow_at_place(table, place);

	if (place == 0)
		return;
	if (flow_key_equal(&f->key, &key))
		return;
	explore_assert(flow_key_equal(&flow_nat(table, f)->key, &key));
	explore_assert((f->word & FLOW_TRANSLATED) != 0);
}

static void table_setup(void)
{
	if (table == NULL) {
		table = aligned_alloc(64, sizeof(*table));
		memset(table, 0, sizeof(*table));
	}
	table->entry = model->flow - 1;
	table->nat = model->nat - 1;
	model->now.index.n = model->next.index.n = BUCKETS;
	table->index = table->oldest = &model->now.index;
}

void model_setup(unsigned int scenario)
{
	const struct scenario *s = &scenarios[scenario];

	model = explore_alloc(sizeof(*model));
	table_setup();
	for (unsigned int i = 0; i < FLOWS; i++) {
		model->flow[i].key = key_of(s->first[i]);
		model->flow[i].hash = hash_of(s->first[i]);
		model->nat[i].key = key_of(s->second[i]);
		model->nat[i].hash = hash_of(s->second[i]);
	}
	for (unsigned int i = 0; i < s->filled.slots; i++)
		model->now.bucket[s->filled.bucket].tag[i] = 0xffffffff;
	for (unsigned int i = 0; i < FLOWS; i++)
		if (s->before[i])
			insert(s, i, &model->now);
	if (s->grows)
		model->now.index.next = &model->next.index;
}

void model_thread(unsigned int scenario, unsigned int thread)
{
	const struct scenario *s = &scenarios[scenario];
	const unsigned int i = s->thread[thread].flow;

	switch (s->thread[thread].act) {
	case INSERT:
		insert(s, i, &model->now);
		break;
	case INSERT_LEFT:
		insert(s, i, &model->next);
		break;
	case REMOVE:
		model->removed[i] +=
			flow_unlink(table, &model->worker, &model->flow[i], FLOW_END_FORCED, 1);
		break;
	case FIND:
		find(s, i);
		break;
	case COPY:
		explore_assert(flow_entry_copy(table, &model->flow[i]));
		break;
	case ANNOUNCE:
		atomic_store_explicit(
			&model->now.index.next, &model->next.index, memory_order_release);
		break;
	default:
		break;
	}
}

bool model_matters(const volatile void *p)
{
	(void)p;
	return true;
}

// Slots of the flow.
static unsigned int slots_of(const union buckets *x, unsigned int i)
{
	unsigned int n = 0;

	for (unsigned int b = 0; b < BUCKETS; b++)
		for (unsigned int k = 0; k < BUCKET_SLOTS; k++)
			n += x->bucket[b].tag[k] != TAG_EMPTY &&
			     x->bucket[b].place[k] / FLOW_LINES == i + 1;
	return n;
}

static bool does(const struct scenario *s, enum act act, unsigned int i)
{
	for (unsigned int k = 0; k < EXPLORE_THREADS; k++)
		if (s->thread[k].act == act && s->thread[k].flow == i)
			return true;
	return false;
}

// Of the next index: whether the number of the flow's slots is right.
static bool is_in_next(const struct scenario *s, unsigned int i, unsigned int keys)
{
	const unsigned int slots = slots_of(&model->next, i);

	if (s->grows && (keys == 0 || !s->before[i] || does(s, COPY, i)))
		return slots == keys;
	return slots == 0 || slots == keys; // it is copied later
}

static bool have_equal(const struct scenario *s, unsigned int i, unsigned int k)
{
	return s->first[i] == s->first[k] || s->first[i] == s->second[k] ||
	       s->second[i] == s->first[k] || (s->second[i] != 0 && s->second[i] == s->second[k]);
}

static bool is_in(unsigned int i)
{
	return model->inserted[i] && model->removed[i] == 0;
}

void model_end(unsigned int scenario)
{
	const struct scenario *s = &scenarios[scenario];

	for (unsigned int b = 0; b < BUCKETS; b++)
		explore_assert(!model->now.bucket[b].locked && !model->next.bucket[b].locked);
	for (unsigned int i = 0; i < FLOWS; i++) {
		const unsigned int keys = is_in(i) ? keys_of(s, i) : 0;

		explore_assert(model->removed[i] <= 1);
		explore_assert(slots_of(&model->now, i) == (does(s, INSERT_LEFT, i) ? 0 : keys));
		explore_assert(is_in_next(s, i, keys));
		for (unsigned int k = 0; k < i; k++)
			explore_assert(!is_in(i) || !is_in(k) || !have_equal(s, i, k));
	}
	// Of two with an equal key, one is, unless the third had it; others both are.
	if (does(s, INSERT, 0) && (does(s, INSERT, 1) || does(s, INSERT_LEFT, 1)) &&
		!(s->before[2] && (have_equal(s, 0, 2) || have_equal(s, 1, 2))))
		explore_assert(
			model->inserted[0] + model->inserted[1] == (have_equal(s, 0, 1) ? 1 : 2));
}
