// SPDX-License-Identifier: BSD-3-Clause
#include "tracing.h"

#include <errno.h>

#include <rte_cycles.h>

#include "gateway.h"
#include "log.h"

static void set_for_workers(struct gateway *g, struct trace *trace)
{
	for (unsigned int i = 0; i < g->conf->n_workers; i++)
		atomic_store_explicit(&g->loops[i]->worker->trace, trace, memory_order_release);
}

int tracing_start(struct gateway *g, const struct trace_filter *filter, uint32_t packets)
{
	struct tracing *t = &g->tracing;

	if (t->on || (t->number > 0 && rte_rcu_qsbr_check(g->qsbr, t->token, false) != 1))
		return -EBUSY;
	if (t->trace == NULL)
		t->trace = trace_new(g->conf->n_workers);
	if (t->trace == NULL)
		return -ENOMEM;
	trace_begin(t->trace, filter, packets);
	t->number++;
	t->on = true;
	t->asked_ms = gateway_now_ms();
	t->start = rte_rdtsc();
	set_for_workers(g, t->trace);
	log_info("trace %u started, for %u packets", t->number, packets);
	return 0;
}

void tracing_stop(struct gateway *g)
{
	struct tracing *t = &g->tracing;

	if (!t->on)
		return;
	t->on = false;
	set_for_workers(g, NULL);
	t->token = rte_rcu_qsbr_start(g->qsbr);
	log_info("trace %u ended: %u packets", t->number, trace_packets(t->trace));
}

void tracing_tick(struct gateway *g, uint64_t now)
{
	struct tracing *t = &g->tracing;

	if (t->on && (trace_done(t->trace) || now - t->asked_ms >= TRACING_FORGOTTEN_MS))
		tracing_stop(g);
}
