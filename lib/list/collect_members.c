// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>
#include <string.h>

#include "channel.h"
#include "collect.h"
#include "flow_adopt.h"

// The other end reports now and then how many lines it has sent: more may have been taken since.
static uint64_t missing(uint64_t sent, uint64_t taken)
{
	return sent > taken ? sent - taken : 0;
}

// This gateway, whose lines the other one takes.
static void own_fill(struct members_view *v, const struct control *c, const struct channel_state *s)
{
	v->member = c->conf->pair_member;
	v->this = true;
	v->silent_ms = s->confirmed_ms;
	v->lines = s->sent;
	v->missing = missing(s->sent, s->sent_taken);
	v->refused = v->failures = v->flows_refused = UINT64_MAX;
	v->flows = c->member.flows_sent;
	snprintf(v->name, sizeof(v->name), "%s", c->conf->instance);
	snprintf(v->version, sizeof(v->version), "%s", c->version);
}

static void other_fill(
	struct members_view *v, const struct control *c, const struct channel_state *s)
{
	const struct flow_adopted adopted = flow_adopted_count(c->flows);

	v->member = 3 - c->conf->pair_member;
	v->silent_ms = s->received_ms;
	v->lines = s->received;
	v->missing = missing(s->received, s->received_taken);
	v->refused = s->strangers;
	v->failures = s->failures;
	v->flows = adopted.taken;
	v->flows_refused = adopted.refused + c->member.flows_ignored;
	snprintf(v->name, sizeof(v->name), "%s", s->peer.name);
	snprintf(v->version, sizeof(v->version), "%s", s->peer.version);
	snprintf(v->differs, sizeof(v->differs), "%.*s", (int)sizeof(v->differs) - 1, s->config);
	snprintf(v->error, sizeof(v->error), "%.*s", (int)sizeof(v->error) - 1, s->error);
}

// Of a connection, each direction is in sync by itself.
static enum channel_phase phase_of(const struct channel_state *s, bool late)
{
	if (s->phase != CHANNEL_IN_SYNC && s->phase != CHANNEL_SYNCING)
		return s->phase;
	return late ? CHANNEL_SYNCING : CHANNEL_IN_SYNC;
}

bool collect_members(void *view, const struct control *c, unsigned int i)
{
	struct members_view *v = view;
	struct channel_state s;
	enum channel_phase phase;

	if (c->member.channel == NULL || i > 1)
		return false;
	channel_state(c->member.channel, &s);
	phase = phase_of(&s, i == 0 ? s.sent_late : s.received_late);
	*v = (struct members_view){.state = channel_phase_names[phase],
		.in_sync = phase == CHANNEL_IN_SYNC,
		.since_ms = s.since_ms};
	if (i == 0)
		own_fill(v, c, &s);
	else
		other_fill(v, c, &s);
	return true;
}
