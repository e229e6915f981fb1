// SPDX-License-Identifier: BSD-3-Clause
#include "member_lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "channel.h"
#include "event_log.h"
#include "group.h"
#include "line.h"
#include "member_changes.h"
#include "member_flows.h"
#include "member_peers.h"
#include "numbers.h"

#define ROLE_MS      300                       // for which a reported role is true
#define TAKE_MS      10                        // of a tick, for lines of the other one
#define REPEAT_TICKS (NUMBERS_REPEAT_MS / 100) // in which all lines are sent, also unchanged ones

static bool line_send(struct control *c, const char *line, unsigned int len)
{
	return len == 0 || channel_send(c->member.channel, line, len);
}

// Sends the numbers of an SA, and the endpoint of its peer, if they have changed. False: there was
// no room.
static bool sa_send(struct control *c, struct sa *sa, bool always)
{
	uint64_t reported = sa->record->reported;
	char line[NUMBERS_LINE_MAX], peer[MEMBER_PEER_LINE_MAX];

	if (!line_send(c, line, numbers_report(sa, always, line))) {
		sa->record->reported = reported;
		return false;
	}
	return line_send(c, peer, member_peer_report(sa, always, c->member.peers_ms, peer));
}

// Sends the changes of all SAs, and all of some others, beginning where there was no room left last
// time. False: there was no room. all: of all SAs, now or in the next ticks.
static bool sas_send(struct control *c, bool all, uint64_t now_ms)
{
	const struct sa_list *sas = &c->snapshot->objects->sas;
	unsigned int n = sas->n_in + sas->n_out, repeated;
	struct control_member *m = &c->member;

	if (all || (m->left > 0 && n != m->n_sas)) // others may have their places now
		m->left = n;
	m->n_sas = n;
	repeated = RTE_MAX(m->left, n / REPEAT_TICKS + 1);
	for (unsigned int i = 0; i < n; i++)
		if (!sa_send(c, sa_list_at(sas, (m->next + i) % n), i < repeated)) {
			m->next = (m->next + i) % n;
			m->left -= RTE_MIN(m->left, i);
			return false;
		}
	m->left = 0;
	m->next = n > 0 ? (m->next + repeated) % n : 0;
	m->peers_ms = now_ms;
	return true;
}

static bool flow_line_send(void *channel, const char *line, size_t len)
{
	return channel_send(channel, line, len);
}

static void flows_send(struct control *c, uint64_t now_ms)
{
	const size_t waiting = channel_waiting(c->member.channel);

	if (waiting < CHANNEL_BULK_MAX)
		member_flows_send(
			c, now_ms, CHANNEL_BULK_MAX - waiting, flow_line_send, c->member.channel);
}

static void groups_send(struct control *c, enum conf_role role, uint64_t now_ms)
{
	char line[CONF_NAME_MAX + 64];

	for (unsigned int i = 0; i < c->groups.n; i++) {
		const struct owned_group *g = &c->groups.item[i];

		if (g->role == role)
			line_send(c, line,
				(unsigned int)snprintf(line, sizeof(line),
					"group %s %s %u %" PRIu64, g->name, group_role_names[role],
					g->changes, now_ms - g->since_ms));
	}
}

// That a group is standby means to the other one that no numbers are missing. So it follows them;
// those of an active one change all the time, and may be too many for one tick.
static void lines_send(struct control *c, bool all, uint64_t now_ms)
{
	groups_send(c, CONF_ACTIVE, now_ms);
	member_changes_send(c);
	if (!sas_send(c, all, now_ms))
		return;
	groups_send(c, CONF_STANDBY, now_ms);
	flows_send(c, now_ms);
}

static bool role_parse(enum conf_role *role, const char *name)
{
	for (*role = CONF_ACTIVE; *role <= CONF_STANDBY; ++*role)
		if (strcmp(name, group_role_names[*role]) == 0)
			return true;
	return false;
}

static void group_learn(struct control *c, const char *line, uint64_t now_ms)
{
	char word[sizeof("group")], name[CONF_NAME_MAX], text[16];
	const char *rest = line;
	struct owned_group *g;
	enum conf_role role;
	uint64_t changes, age_ms;
	bool both;

	if (!line_word(&rest, word, sizeof(word)) || strcmp(word, "group") != 0 ||
		!line_word(&rest, name, sizeof(name)) || !line_word(&rest, text, sizeof(text)) ||
		!role_parse(&role, text) || !line_number(&rest, &changes, UINT32_MAX) ||
		!line_number(&rest, &age_ms, UINT64_MAX) || rest != NULL)
		return;
	g = group_find(c, name);
	if (g == NULL)
		return;
	both = g->role == CONF_ACTIVE && role == CONF_ACTIVE;
	if (both && !g->both) {
		g->both_ms = now_ms;
		event_post(GROUP_TWICE, EVENT_TEXT(g->name));
	}
	g->both = both;
	// Both were active, without a channel perhaps: it may have carried connections.
	if (role == CONF_STANDBY && g->role == CONF_ACTIVE && changes != g->other_changes)
		groups_continue(c, now_ms);
	if (role == CONF_STANDBY && (!g->other_known || g->other != role))
		numbers_other_stops(c, &c->conf->groups[g - c->groups.item]);
	g->other_known = true;
	g->other = role;
	g->other_since_ms = now_ms - RTE_MIN(age_ms, now_ms);
	g->other_changes = (uint32_t)changes;
}

// The others wait for the next tick, so that it ends.
static void lines_take(struct control *c, uint64_t begin_ms)
{
	char line[LINE_LEN_MAX];

	while (c->io->now_ms() <= begin_ms + TAKE_MS && channel_receive(c->member.channel, line)) {
		c->member.lines_ms = begin_ms;
		if (!numbers_learn(c, line) && !member_flows_learn(c, line) &&
			!member_peer_learn(c, line, begin_ms) && !member_changes_learn(c, line))
			group_learn(c, line, begin_ms);
	}
	explicit_bzero(line, sizeof(line)); // changes have keys
}

// The first lines of another connection may be older than the last ones of the former.
static void connection_begin(struct control *c)
{
	struct channel_state s;

	channel_state(c->member.channel, &s);
	member_changes_connected(c, s.config[0] == '\0');
	member_flows_begin(c);
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
		connection_begin(c);
	if (epoch != 0) {
		lines_take(c, now_ms);
		lines_send(c, epoch != m->lines_epoch, now_ms);
	}
	m->lines_epoch = epoch;
}

// An older report may have been followed by another role, which has not arrived.
static bool is_standby_there(
	const struct control_member *m, const struct owned_group *g, uint64_t now_ms)
{
	return m->lines_epoch != 0 && g->other_known && g->other == CONF_STANDBY &&
	       now_ms - m->lines_ms < ROLE_MS;
}

const char *member_missing(struct control *c, const struct owned_group *g, uint64_t now_ms)
{
	const struct control_member *m = &c->member;
	struct channel_state s;

	if (m->channel == NULL)
		return "there is no channel";
	channel_state(m->channel, &s);
	if (s.phase != CHANNEL_IN_SYNC)
		return "the other gateway is not in sync";
	if (!is_standby_there(m, g, now_ms))
		return "the other gateway does not have it as standby";
	return m->left > 0 || m->scan_ms == 0 ? "not all flows are reported" : NULL;
}

uint64_t member_silent_ms(struct control *c, const struct owned_group *g, uint64_t now_ms)
{
	const struct control_member *m = &c->member;

	member_lines_tick(c, now_ms);
	if (is_standby_there(m, g, now_ms))
		return 0;
	return m->lines_ms == 0 ? UINT64_MAX : now_ms - m->lines_ms + 1;
}
