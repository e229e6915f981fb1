// SPDX-License-Identifier: BSD-3-Clause
// The memory of the flow table. Slots of keys are in flow_insert.c.
#include "flow_table.h"

#include <errno.h>
#include <sys/mman.h>

#include "huge_pages.h"
#include "line_memory.h"

#define FILL_FIRST 32768 // entries that have memory from the start
#define FILL_STEP  8192

struct layout {
	size_t buckets, entries, sources, total; // octets
	uint32_t n_buckets, n_entries;
};

// A struct flow is found from its lines.
static_assert(HUGE_PAGE % sizeof(struct flow) == 0, "aligned as the entries");

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

	l.buckets =
		RTE_ALIGN_CEIL((size_t)l.n_buckets * sizeof(struct bucket), sizeof(struct flow));
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
	t->entry = RTE_PTR_ADD(t->memory, l.buckets);
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
	t->reading = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	flow_table_configure(t, c);
	workers_init(t);
	flow_pool_fill(t, FILL_FIRST + (SPARE + STORE) * t->n_workers);
	return t;
}

// Of translated flows: their second keys, and the counts of their ports.
static size_t nat_len(const struct flow_table *t)
{
	const size_t cells = (size_t)t->sources.mask + 1;

	return RTE_ALIGN_CEIL(((size_t)t->n_entries + 1) * sizeof(struct flow_nat) +
				      cells * (2 * sizeof(uint32_t) + sizeof(uint16_t)),
		HUGE_PAGE);
}

int flow_table_translate(struct flow_table *t)
{
	struct flow_nat *nat;

	if (t->nat != NULL)
		return 0;
	nat = huge_pages_map(nat_len(t));
	if (nat == NULL)
		return -ENOMEM;
	t->ports.by = t->sources;
	t->ports.by.cell = (void *)(nat + t->n_entries + 1);
	t->ports.block = (void *)(t->ports.by.cell + 2 * ((size_t)t->sources.mask + 1));
	atomic_store_explicit(&t->nat, nat, memory_order_release);
	return 0;
}

// The same for translated flows, which workers may already have.
static bool nat_fill(struct flow_table *t)
{
	if (t->nat == NULL || t->nat_filled == nat_len(t))
		return false;
	madvise(RTE_PTR_ADD(t->nat, t->nat_filled), HUGE_PAGE, MADV_POPULATE_WRITE);
	t->nat_filled += HUGE_PAGE;
	return true;
}

bool flow_table_fill(struct flow_table *t)
{
	const bool more = flow_pool_fill(t, FILL_STEP);

	return nat_fill(t) || flow_dropped_fill(t) || more;
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
	}
	if (t != NULL && t->nat != NULL)
		munmap(t->nat, nat_len(t));
	if (t != NULL && t->memory != NULL)
		munmap(t->memory, t->memory_len);
	line_free(t);
}
