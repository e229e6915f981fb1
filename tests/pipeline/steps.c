// SPDX-License-Identifier: BSD-3-Clause
#include "steps.h"

void expect_steps(const struct gateway *g, uint32_t packet, const enum trace_kind right[])
{
	const struct trace_step *s;
	unsigned int n = 0;

	for (uint32_t i = 0; (s = trace_step_at(g->trace, i)) != NULL; i++) {
		if (s->packet != packet)
			continue;
		if (right[n] == TRACE_KINDS || s->kind != right[n])
			fail_msg("packet %u, step %u: %s: %s", packet, n, trace_info[s->kind].stage,
				trace_info[s->kind].decision);
		n++;
	}
	if (right[n] != TRACE_KINDS)
		fail_msg("packet %u ends before %s: %s", packet, trace_info[right[n]].stage,
			trace_info[right[n]].decision);
}

const struct trace_step *find_step(const struct gateway *g, enum trace_kind kind)
{
	const struct trace_step *s;

	for (uint32_t i = 0; (s = trace_step_at(g->trace, i)) != NULL; i++)
		if (s->kind == kind)
			return s;
	fail_msg("no step says: %s", trace_info[kind].decision);
	return NULL;
}
