// SPDX-License-Identifier: BSD-3-Clause
// Entries with one key or two: link_entry() and flow_unlink() of flow_insert.c, with all locks of
// buckets. Two workers insert flows with an equal first or second key, or that share a bucket,
// while a third removes a flow or looks one up. Proves for all interleavings: of equal keys
// one is in the table, a flow in the table is found by each of its keys once, one that is not has
// no slot, and no look-up by a second key returns a flow that does not have it.
#include "flow_insert.c"

#include <netinet/in.h>

#include "explore.h"

#define BUCKETS 8
#define FLOWS   3 // entries 1 to 3

enum act { INSERT, REMOVE, FIND, COPY, NOTHING };

// The keys of each flow, by number; the action of each thread, and its flow.
struct scenario {
	uint8_t first[FLOWS], second[FLOWS];
	bool before[FLOWS]; // it is in the table at the start
	bool filled;        // the first bucket of the second keys is too full to be preferred
	bool grows;         // another index replaces this one, where those from the start are not
	struct {
		enum act act;
		uint8_t flow;
	} thread[EXPLORE_THREADS];
	bool single; // no flow has a second key; the bucket of keys 1 and 7 is almost well filled
};

// The same first key; the same second key; a second key that is being given up; second keys that
// share a bucket, which is the first of both, or not. The same while the table grows. One key each:
// while the third is there, the first bucket is well filled, and the other may be chosen.
static const struct scenario scenarios[] = {
	{{1, 1, 2}, {4, 5, 6}, {false}, false, false, {{INSERT, 0}, {INSERT, 1}, {FIND, 0}}},
	{{1, 2, 3}, {4, 4, 6}, {false}, false, false, {{INSERT, 0}, {INSERT, 1}, {FIND, 0}}},
	{{1, 2, 3}, {4, 4, 4}, {false, false, true}, false, false,
		{{INSERT, 0}, {INSERT, 1}, {REMOVE, 2}}},
	{{1, 2, 3}, {4, 5, 4}, {false, false, true}, false, false,
		{{INSERT, 0}, {FIND, 2}, {REMOVE, 2}}},
	{{1, 2, 3}, {4, 6, 5}, {false}, false, false, {{INSERT, 0}, {INSERT, 1}, {FIND, 0}}},
	{{1, 2, 3}, {4, 5, 6}, {false, false, true}, true, false,
		{{INSERT, 0}, {INSERT, 1}, {REMOVE, 2}}},
	{{1, 2, 3}, {4, 5, 6}, {false, false, true}, false, false,
		{{INSERT, 0}, {REMOVE, 2}, {REMOVE, 2}}},
	{{1, 1, 2}, {4, 5, 6}, {false}, false, true, {{INSERT, 0}, {INSERT, 1}, {NOTHING, 0}}},
	{{1, 2, 3}, {4, 5, 6}, {false, false, true}, false, true,
		{{NOTHING, 0}, {COPY, 2}, {REMOVE, 2}}},
	{{1, 2, 3}, {4, 4, 6}, {false, false, true}, false, true,
		{{INSERT, 0}, {COPY, 2}, {NOTHING, 0}}},
	{{1, 2, 3}, {4, 5, 4}, {false, false, true}, false, true,
		{{INSERT, 0}, {NOTHING, 0}, {REMOVE, 2}}},
	{{1, 1, 7}, {4, 5, 6}, {false, false, true}, false, false,
		{{INSERT, 0}, {INSERT, 1}, {REMOVE, 2}}, .single = true},
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

// Of keys 1 to 7: their buckets are 0 and 1, 2 and 3, 4 and 5, 6 and 7, 7 and 0, 6 and 5, 0 and
// another one.
static uint32_t hash_of(unsigned int number)
{
	static const uint32_t hash[] = {0, 0x00009010, 0x4000d020, 0x80002030, 0xc0006040,
		0xe0006050, 0xc0004060, 0x00004070};

	return hash[number];
}

static void insert(const struct scenario *s, unsigned int i)
{
	const uint32_t word = s->single ? 1 : FLOW_TRANSLATED | 1;
	uint32_t place;

	model->inserted[i] = link_entry(table, &model->flow[i], word, &place) == 0;
}

static void find_second(unsigned int i)
{
	const struct flow_key key = model->nat[i].key;
	const struct home home = home_of(&model->now.index, model->nat[i].hash);
	const uint32_t place = place_find(table, &home, model->nat[i].hash, &key);
	const struct flow *f = flow_at_place(table, place);

	if (place == 0)
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
	for (unsigned int i = 0; s->filled && i < BUCKET_PREFERRED; i++)
		model->now.bucket[6].tag[i] = 0xffffffff;
	for (unsigned int i = 0; s->single && i < BUCKET_PREFERRED - 1; i++)
		model->now.bucket[0].tag[i] = 0xffffffff;
	for (unsigned int i = 0; i < FLOWS; i++)
		if (s->before[i])
			insert(s, i);
	if (s->grows)
		model->now.index.next = &model->next.index;
}

void model_thread(unsigned int scenario, unsigned int thread)
{
	const unsigned int i = scenarios[scenario].thread[thread].flow;

	switch (scenarios[scenario].thread[thread].act) {
	case INSERT:
		insert(&scenarios[scenario], i);
		break;
	case REMOVE:
		model->removed[i] +=
			flow_unlink(table, &model->worker, &model->flow[i], FLOW_END_FORCED, 1);
		break;
	case FIND:
		find_second(i);
		break;
	case COPY:
		explore_assert(flow_entry_copy(table, &model->flow[i]));
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

static bool is_copied(const struct scenario *s, unsigned int i)
{
	for (unsigned int k = 0; k < EXPLORE_THREADS; k++)
		if (s->thread[k].act == COPY && s->thread[k].flow == i)
			return true;
	return false;
}

void model_end(unsigned int scenario)
{
	const struct scenario *s = &scenarios[scenario];
	const unsigned int keys = s->single ? 1 : 2;

	for (unsigned int b = 0; b < BUCKETS; b++)
		explore_assert(!model->now.bucket[b].locked && !model->next.bucket[b].locked);
	for (unsigned int i = 0; i < FLOWS; i++) {
		const bool in = model->inserted[i] && model->removed[i] == 0;

		explore_assert(
			model->removed[i] <= 1 && slots_of(&model->now, i) == (in ? keys : 0));
		if (s->grows && (!in || !s->before[i] || is_copied(s, i)))
			explore_assert(slots_of(&model->next, i) == (in ? keys : 0));
		for (unsigned int k = 0; in && k < i; k++)
			if (model->inserted[k] && model->removed[k] == 0)
				explore_assert(
					s->first[k] != s->first[i] && s->second[k] != s->second[i]);
	}
	// Of two with an equal key, one is.
	if (s->thread[1].act == INSERT && (!s->before[2] || s->single) &&
		(s->first[0] == s->first[1] || s->second[0] == s->second[1]))
		explore_assert(model->inserted[0] + model->inserted[1] == 1);
}
