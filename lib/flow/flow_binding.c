// SPDX-License-Identifier: BSD-3-Clause
#include "flow_binding.h"

#include <errno.h>
#include <stdlib.h>

#include "flow_table.h"

struct flow_bindings {
	_Atomic uint32_t written; // records, by the worker
	_Atomic uint32_t read;    // by the reader
	struct flow_binding record[FLOW_BINDINGS];
};

int flow_bindings_new(struct flow_table *t)
{
	for (unsigned int i = 0; i < t->n_workers; i++) {
		t->worker[i].bindings = calloc(1, sizeof(struct flow_bindings));
		if (t->worker[i].bindings == NULL)
			return -ENOMEM;
	}
	return 0;
}

void flow_bindings_free(struct flow_table *t)
{
	for (unsigned int i = 0; i < t->n_workers; i++)
		free(t->worker[i].bindings);
}

uint32_t flow_binding_number(const struct flow_table *t, const struct flow_worker *w)
{
	const uint64_t begun = atomic_load_explicit(&w->counters.bindings, memory_order_relaxed);

	return (uint32_t)(begun * t->n_workers + (uint64_t)(w - t->worker));
}

void flow_binding_add(const struct flow_table *t, struct flow_worker *w, const struct flow *f,
	bool ended, uint32_t now)
{
	const struct flow_nat *nat = flow_nat(t, f);
	struct flow_bindings *b = w->bindings;
	uint32_t at;

	count(ended ? &w->counters.bindings_ended : &w->counters.bindings);
	if (!nat->logged || b == NULL)
		return;
	at = atomic_load_explicit(&b->written, memory_order_relaxed);
	if (at - atomic_load_explicit(&b->read, memory_order_acquire) == FLOW_BINDINGS) {
		count(&w->counters.bindings_lost);
		return;
	}
	b->record[at % FLOW_BINDINGS] =
		(struct flow_binding){.from = flow_key_ends(&f->key, nat->first),
			.to = flow_key_ends(&nat->key, !nat->sender),
			.at_ms = now,
			.number = nat->binding,
			.proto = f->key.proto,
			.ended = ended};
	atomic_store_explicit(&b->written, at + 1, memory_order_release);
}

bool flow_binding_next(struct flow_table *t, unsigned int worker, struct flow_binding *out)
{
	struct flow_bindings *b = t->worker[worker].bindings;
	uint32_t at = atomic_load_explicit(&b->read, memory_order_relaxed);

	if (at == atomic_load_explicit(&b->written, memory_order_acquire))
		return false;
	*out = b->record[at % FLOW_BINDINGS];
	atomic_store_explicit(&b->read, at + 1, memory_order_release);
	return true;
}
