// SPDX-License-Identifier: BSD-3-Clause
#include "frozen.h"

#include "event_log.h"
#include "role.h"

static struct deadline_clock clock_of(const struct control *c)
{
	return (struct deadline_clock){.ms = c->io->now_ms(),
		.tsc_per_ms = c->workers[0]->tsc_hz / 1000,
		.boot_ms = c->io->boot_ms()};
}

// 0: no other gateway takes over, whatever happens to this one.
static uint32_t limit_ms(const struct control *c)
{
	if (c->conf->n_groups == 0)
		return 0;
	return c->fleet != NULL            ? 1000 * c->conf->fleet_lease_s
	       : c->conf->pair_member != 0 ? c->conf->pair_deadline_ms
					   : 0;
}

static void frozen(void *control, uint64_t ms)
{
	struct control *c = control;

	event_post(FROZEN, EVENT_NUMBER(ms));
	roles_give_up(c, c->io->now_ms());
}

static bool in_effect(void *control)
{
	return roles_decide_flows(control);
}

void frozen_renew(struct control *c)
{
	struct deadline_clock now;

	if (c->deadlines.n == 0) // workers do not run yet
		return;
	now = clock_of(c);
	deadlines_renew(&c->deadlines, &now, limit_ms(c));
}

void frozen_round(struct control *c)
{
	static const struct deadline_freeze freeze = {frozen, in_effect};
	const struct deadline_clock now = clock_of(c);

	deadlines_round(&c->deadlines, &now, limit_ms(c), &freeze, c);
}
