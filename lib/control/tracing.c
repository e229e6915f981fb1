// SPDX-License-Identifier: BSD-3-Clause
#include "tracing.h"

#include <errno.h>

#include <rte_cycles.h>

#include "log.h"

static void set_for_workers(const struct control *c, struct trace *trace)
{
	for (unsigned int i = 0; i < c->conf->n_workers; i++)
		atomic_store_explicit(&c->workers[i]->trace, trace, memory_order_release);
}

int tracing_start(struct control *c, const struct trace_filter *filter, uint32_t packets)
{
	struct tracing *t = &c->tracing;

	if (t->on || (t->number > 0 && rte_rcu_qsbr_check(c->qsbr, t->token, false) != 1))
		return -EBUSY;
	if (t->trace == NULL)
		t->trace = trace_new(c->conf->n_workers, PKTS_MAX);
	if (t->trace == NULL)
		return -ENOMEM;
	trace_begin(t->trace, filter, packets);
	t->number++;
	t->on = true;
	t->asked_ms = c->io->now_ms();
	t->start = rte_rdtsc();
	set_for_workers(c, t->trace);
	log_info("trace %u started, for %u packets", t->number, packets);
	return 0;
}

void tracing_stop(struct control *c)
{
	struct tracing *t = &c->tracing;

	if (!t->on)
		return;
	t->on = false;
	set_for_workers(c, NULL);
	t->token = rte_rcu_qsbr_start(c->qsbr);
	log_info("trace %u ended: %u packets", t->number, trace_packets(t->trace));
}

void tracing_tick(struct control *c, uint64_t now_ms)
{
	const struct tracing *t = &c->tracing;

	if (t->on && (trace_done(t->trace) || now_ms - t->asked_ms >= TRACING_FORGOTTEN_MS))
		tracing_stop(c);
}
