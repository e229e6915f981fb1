// SPDX-License-Identifier: BSD-3-Clause
#include "member_lines.h"

#include <stdio.h>
#include <string.h>

#include "channel.h"
#include "event_log.h"
#include "group.h"
#include "numbers.h"

#define TAKE_MS      10 // of a tick, for lines of the other one
#define REPEAT_TICKS 20 // in which all lines are sent, also unchanged ones

static bool line_send(struct control *c, const char *line, unsigned int len)
{
	return len == 0 || channel_send(c->member.channel, line, len);
}

// Sends the numbers of SAs that have changed, and of some others, beginning where there was no room
// left last time. False: there was no room.
static bool numbers_send(struct control *c, bool all)
{
	const struct sa_list *sas = &c->snapshot->objects->sas;
	unsigned int n = sas->n_in + sas->n_out, repeated = all ? n : n / REPEAT_TICKS + 1;
	struct control_member *m = &c->member;
	char line[NUMBERS_LINE_MAX];

	for (unsigned int i = 0; i < n; i++) {
		struct sa *sa = sa_list_at(sas, (m->next + i) % n);
		uint64_t reported = sa->record->reported;

		if (!line_send(c, line, numbers_report(sa, i < repeated, line))) {
			sa->record->reported = reported;
			m->next = (m->next + i) % n;
			return false;
		}
	}
	m->next = n > 0 ? (m->next + repeated) % n : 0;
	return true;
}

static void groups_send(struct control *c)
{
	char line[CONF_NAME_MAX + 32];

	for (unsigned int i = 0; i < c->groups.n; i++) {
		const struct owned_group *g = &c->groups.item[i];

		line_send(c, line,
			(unsigned int)snprintf(line, sizeof(line), "group %s %s", g->name,
				group_role_names[g->role]));
	}
}

static bool role_parse(enum conf_role *role, const char *name)
{
	for (*role = CONF_ACTIVE; *role <= CONF_STANDBY; ++*role)
		if (strcmp(name, group_role_names[*role]) == 0)
			return true;
	return false;
}

static void group_learn(struct control *c, const char *line)
{
	char name[CONF_NAME_MAX], text[16];
	struct owned_group *g;
	enum conf_role role;
	bool both;

	static_assert(CONF_NAME_MAX == 32, "as many octets as are read");
	if (sscanf(line, "group %31s %15s", name, text) != 2 || !role_parse(&role, text))
		return;
	g = group_find(c, name);
	if (g == NULL)
		return;
	both = g->role == CONF_ACTIVE && role == CONF_ACTIVE;
	if (both && !g->both)
		event_post(GROUP_TWICE, EVENT_TEXT(g->name));
	g->both = both;
	if (role == CONF_STANDBY && (!g->other_known || g->other != role))
		numbers_other_stops(c, &c->conf->groups[g - c->groups.item]);
	g->other_known = true;
	g->other = role;
}

// The others wait for the next tick, so that it ends.
static void lines_take(struct control *c, uint64_t begin_ms)
{
	char line[LINE_LEN_MAX];

	while (c->io->now_ms() <= begin_ms + TAKE_MS && channel_receive(c->member.channel, line)) {
		c->member.lines_ms = begin_ms;
		if (!numbers_learn(c, line))
			group_learn(c, line);
	}
}

// The first lines of another connection may be older than the last ones of the former.
static void others_forget(struct control *c)
{
	for (unsigned int i = 0; i < c->groups.n; i++)
		c->groups.item[i].other_known = c->groups.item[i].both = false;
}

void member_lines_tick(struct control *c, uint64_t now_ms)
{
	struct control_member *m = &c->member;
	uint64_t epoch;

	numbers_tick(c, now_ms);
	if (m->channel == NULL)
		return;
	epoch = channel_epoch(m->channel);
	if (epoch != m->lines_epoch)
		others_forget(c);
	if (epoch != 0) {
		lines_take(c, now_ms);
		if (numbers_send(c, epoch != m->lines_epoch))
			groups_send(c);
	}
	m->lines_epoch = epoch;
}

uint64_t member_silent_ms(struct control *c, const struct owned_group *g, uint64_t now_ms)
{
	const struct control_member *m = &c->member;

	member_lines_tick(c, now_ms);
	if (m->lines_epoch != 0 && g->other_known && g->other == CONF_STANDBY)
		return 0;
	return m->lines_ms == 0 ? UINT64_MAX : now_ms - m->lines_ms + 1;
}
