// SPDX-License-Identifier: BSD-3-Clause
#include "pkt_drop.h"

#include "audit.h"
#include "tracepoint.h"

void pkt_drop(struct worker *w, const struct pkt *p, enum drop reason)
{
	const struct sa *sa = NULL;

	w->counters.drops[reason]++;
	if (drop_info[reason].scope == DROP_SCOPE_SA) {
		sa = p->sa_out != NULL ? &p->sa_out->sa : &p->sa_in->sa;
		sa->per_worker[w->id].drops[drop_info[reason].of_sa]++;
	}
	audit_drop(w, p, sa, reason);
	trace_note(w, p, TRACE_DROPPED, (struct trace_fact){.reason = reason});
	worker_release(w, p->m);
}

void pkt_drop_left(struct worker *w, struct rte_mbuf *m)
{
	pkt_drop(w, &(struct pkt){.m = m, .iface = m->port}, DROP_SHUTDOWN);
}

enum drop pkt_consume(struct worker *w, const struct pkt *p)
{
	w->counters.local++;
	trace_note(w, p, TRACE_TAKEN, (struct trace_fact){0});
	worker_release(w, p->m);
	return DROP_NONE;
}
