// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>

#include "collect.h"
#include "wall_clock.h"

static const char *state_of(const struct revisions *all, const struct revision *r, bool last)
{
	if (r->number == all->unconfirmed.revision)
		return "waits";
	if (last)
		return "runs";
	return r->number == all->undone.revision || r->number == all->history.unconfirmed ? "undone"
											  : "";
}

bool collect_history(void *view, const struct control *c, unsigned int i)
{
	const struct revisions *all = &c->revisions;
	unsigned int n = all->history.n + (all->waiting.number != 0);
	const struct revision *r = i < all->history.n ? &all->history.revision[i] : &all->waiting;
	struct history_view *v = view;

	if (i >= n)
		return false;
	*v = (struct history_view){
		.revision = r->number, .user = r->user, .state = state_of(all, r, i + 1 == n)};
	wall_clock_date(v->time, r->at_s);
	snprintf(v->source, sizeof(v->source), "%s", r->source);
	snprintf(v->summary, sizeof(v->summary), "%s", r->summary);
	return true;
}
