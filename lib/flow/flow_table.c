// SPDX-License-Identifier: BSD-3-Clause
// The memory of the flow table. Slots of keys are in flow_insert.c.
#include "flow_table.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "huge_pages.h"
#include "line_memory.h"

#define FILL_FIRST 32768 // entries that have memory from the start
#define FILL_STEP  8192

// A struct flow is found from its lines.
static_assert(HUGE_PAGE % sizeof(struct flow) == 0, "aligned as the entries");

struct flow_layout flow_layout(uint32_t flows, unsigned int workers)
{
	// Entries left for others by a holder that uses all of the capacity.
	uint32_t capacity = RTE_ALIGN_CEIL(flows + flows / FLOW_HOLDER_SHARE, FLOW_CHAIN);

	return (struct flow_layout){
		// Workers may have taken a chain each when the pool becomes low.
		.n_buckets = (capacity + (STORE + FLOW_CHAIN) * workers) / BUCKET_MEAN,
		.n_entries = capacity + (SPARE + STORE) * workers,
	};
}

static size_t sources_len(uint32_t cells)
{
	return RTE_ALIGN_CEIL((size_t)cells * 2 * sizeof(uint32_t), HUGE_PAGE);
}

size_t flow_table_memory(const struct flow_params *p)
{
	const struct flow_layout l = flow_layout(p->capacity, p->workers);

	return (size_t)l.n_buckets * sizeof(struct bucket) +
	       (size_t)l.n_entries * sizeof(struct flow) +
	       (size_t)flow_sources_cells(p->capacity) * 2 * sizeof(uint32_t) +
	       sizeof(struct flow_table);
}

static void workers_init(struct flow_table *t)
{
	for (uint32_t i = 0; i < t->n_workers; i++) {
		struct flow_worker *w = &t->worker[i];

		w->cursor = 1 + i;
		w->hand = (uint32_t)((uint64_t)flow_index(t)->n * i / t->n_workers);
	}
}

void flow_capacity_set(struct flow_table *t, uint32_t capacity)
{
	t->n_entries = RTE_MIN(flow_layout(capacity, t->n_workers).n_entries, t->n_entries_open);
	atomic_store_explicit(
		&t->unestablished_max, capacity / FLOW_HOLDER_SHARE, memory_order_relaxed);
	flow_pool_reserve(t);
}

// Maps memory that the kernel clears when it is first written: workers get no part of it that the
// control thread has not written.
static int memory_map(struct flow_table *t, const struct flow_params *p)
{
	const struct flow_layout l = flow_layout(p->capacity, p->workers);
	const uint32_t most = RTE_MAX(p->capacity, p->capacity_max);

	t->n_entries_max = flow_layout(most, p->workers).n_entries;
	t->n_entries_open = l.n_entries;
	t->index = t->oldest = flow_index_new(l.n_buckets, &t->hash_key);
	t->entry = flow_array_new(t, sizeof(*t->entry));
	t->sources.mask = flow_sources_cells(p->capacity) - 1;
	t->sources.cell = huge_pages_map(sources_len(t->sources.mask + 1));
	if (t->index == NULL || t->entry == NULL || t->sources.cell == NULL)
		return -ENOMEM;
	memset(t->index->bucket, 0, l.n_buckets * sizeof(struct bucket));
	memset(t->sources.cell, 0, sources_len(t->sources.mask + 1));
	return 0;
}

struct flow_table *flow_table_new(const struct flow_params *p, const struct flow_config *c)
{
	struct flow_table *t = line_calloc(1, sizeof(*t));
	int rc = t != NULL ? 0 : -ENOMEM;

	if (rc == 0) {
		t->n_workers = p->workers;
		t->qsbr = p->qsbr;
		t->reader = p->reader;
		t->reading = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
		rc = hash_key_draw(&t->hash_key);
	}
	if (rc == 0)
		rc = hash_key_draw(&t->sources.hash_key);
	if (rc == 0)
		rc = memory_map(t, p);
	if (rc < 0) {
		flow_table_free(t);
		errno = -rc;
		return NULL;
	}
	flow_capacity_set(t, p->capacity);
	flow_table_configure(t, c);
	workers_init(t);
	flow_pool_fill(t, FILL_FIRST + (SPARE + STORE) * t->n_workers);
	return t;
}

// Counts of the ports of translated flows.
static size_t ports_len(const struct flow_table *t)
{
	const size_t cells = (size_t)t->sources.mask + 1;

	return RTE_ALIGN_CEIL(cells * (2 * sizeof(uint32_t) + sizeof(uint16_t)), HUGE_PAGE);
}

int flow_table_translate(struct flow_table *t)
{
	struct flow_nat *nat;

	if (t->nat != NULL)
		return 0;
	nat = flow_array_new(t, sizeof(*nat));
	t->ports.by = t->sources;
	t->ports.by.cell = nat != NULL ? huge_pages_map(ports_len(t)) : NULL;
	if (t->ports.by.cell == NULL) {
		flow_array_free(t, nat, sizeof(*nat));
		return -ENOMEM;
	}
	t->ports.block = (void *)(t->ports.by.cell + 2 * ((size_t)t->sources.mask + 1));
	atomic_store_explicit(&t->nat, nat, memory_order_release);
	return 0;
}

// The memory for translated flows, which workers may already have.
static bool nat_fill(struct flow_table *t)
{
	return t->nat != NULL &&
	       (flow_pages_fill(t->ports.by.cell, &t->ports_filled, ports_len(t)) ||
		       flow_pages_fill(t->nat, &t->nat_filled,
			       flow_array_len(t->n_entries_open, sizeof(struct flow_nat))));
}

// Entries come last: no worker has one whose other memory is not there.
bool flow_table_fill(struct flow_table *t)
{
	return nat_fill(t) || flow_dropped_fill(t) || flow_move_fill(t) ||
	       flow_pool_fill(t, FILL_STEP);
}

bool flow_table_translates(const struct flow_table *t)
{
	return t->nat != NULL;
}

const struct flow_nat *flow_nat_of(const struct flow_table *t, const struct flow *f)
{
	return flow_nat(t, f);
}

void flow_table_free(struct flow_table *t)
{
	if (t != NULL) {
		flow_bindings_free(t);
		flow_records_free(t);
		free(t->inbox);
		free(t->shares);
		flow_array_free(t, t->nat, sizeof(struct flow_nat));
		flow_array_free(t, t->entry, sizeof(struct flow));
		flow_move_free(t);
		if (t->sources.cell != NULL)
			munmap(t->sources.cell, sources_len(t->sources.mask + 1));
		if (t->ports.by.cell != NULL)
			munmap(t->ports.by.cell, ports_len(t));
	}
	line_free(t);
}
