// SPDX-License-Identifier: BSD-3-Clause
// Who owns a group of a fleet.
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "etcd_text.h"
#include "event_log.h"
#include "fleet_numbers.h"
#include "fleet_parts.h"
#include "fleet_value.h"
#include "group.h"
#include "role.h"

#define TAKE_EACH_MS 100   // who owns fewer groups takes a free one first
#define AVOID_MS     10000 // a member that has given a group up leaves it to others
#define CHECK_MS     1000  // between looks at the numbers of a group,
#define INBOUND_MS   5000  // and writes for windows that have moved
#define SURE_MS      1000  // for which a read of keys is believed

static const struct conf_group *conf_of(const struct control *c, const struct owned_group *g)
{
	return &c->conf->groups[g - c->groups.item];
}

bool fleet_group_is_own(const struct fleet *f, const struct owned_group *g)
{
	return f->registered && g->fleet.lease == f->lease && g->fleet.refused == NULL;
}

static bool is_member(const struct fleet *f, const char *name, int64_t lease)
{
	for (unsigned int i = 0; i < f->n_members; i++)
		if (f->member[i].lease == lease && strcmp(f->member[i].name, name) == 0)
			return true;
	return false;
}

// Whether another member has it, and lives. A former process or lease of this one is none.
static bool is_others(const struct control *c, const struct owned_group *g)
{
	return strcmp(g->fleet.owner, c->conf->instance) != 0 &&
	       is_member(c->fleet, g->fleet.owner, g->fleet.lease);
}

static void refuse(struct owned_group *g, const char *why)
{
	if (why != NULL && g->fleet.refused != why)
		event_post(GROUP_REFUSED, EVENT_TEXT(g->name), EVENT_TEXT(why));
	g->fleet.refused = why;
}

// Why a value is not used; NULL: it is, and its numbers have been taken.
static const char *value_take(
	struct control *c, struct owned_group *g, const struct etcd_key *key, int64_t revision)
{
	struct fleet_value v;
	const char *why = fleet_value_read(&v, key->value);
	bool own = v.lease != 0 && v.lease == c->fleet->lease;

	memcpy(g->fleet.owner, v.owner, sizeof(v.owner));
	g->fleet.lease = v.lease;
	if (why != NULL)
		return why;
	if (v.turn < g->fleet.turn || (v.turn == g->fleet.turn && key->revision != revision))
		why = "it is older than one before";
	else
		why = fleet_numbers_check(c, v.lines, own);
	g->fleet.turn = RTE_MAX(g->fleet.turn, v.turn);
	if (why == NULL && own)
		fleet_numbers_hold(c, v.lines);
	else // also of one that is refused: those of a command are above all that were seen
		fleet_numbers_learn(c, v.lines, why == NULL && v.lease == 0);
	return why;
}

void fleet_group_read(struct control *c, struct owned_group *g, const struct etcd_key *key)
{
	struct fleet_group *f = &g->fleet;

	int64_t before = f->revision;

	f->revision = key != NULL ? key->revision : 0;
	if (key != NULL && f->revision == before && f->refused == NULL)
		return;
	if (key != NULL) {
		f->present = true;
		refuse(g, value_take(c, g, key, before));
		return;
	}
	strcpy(f->owner, "-");
	f->lease = 0;
	refuse(g, f->present ? "its key is missing" : NULL);
}

static void lose(struct control *c, struct owned_group *g, uint64_t now_ms)
{
	role_set(c, g->name, CONF_STANDBY, now_ms);
	fleet_numbers_end(c, conf_of(c, g));
}

void fleet_group_follow(struct control *c, struct owned_group *g, uint64_t now_ms)
{
	const struct fleet *f = c->fleet;
	bool sure = f->answered_ms != 0 && now_ms - f->answered_ms < SURE_MS;
	bool free =
		sure && g->fleet.refused == NULL && !is_others(c, g) && !fleet_group_is_own(f, g);

	if (!free)
		g->fleet.free_ms = 0;
	else if (g->fleet.free_ms == 0)
		g->fleet.free_ms = now_ms;
	if (!fleet_group_is_own(f, g))
		g->fleet.giving = false;
	else if (!g->fleet.giving)
		g->fleet.ordered = false;
	if (g->role == CONF_ACTIVE && g->fleet.refused == NULL && is_others(c, g)) {
		lose(c, g, now_ms);
	} else if (g->role == CONF_STANDBY && sure && fleet_group_is_own(f, g) &&
		   !g->fleet.giving) {
		fleet_numbers_begin(c, conf_of(c, g));
		role_set(c, g->name, CONF_ACTIVE, now_ms);
	}
}

static unsigned int active_groups(const struct control *c)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < c->groups.n; i++)
		n += c->groups.item[i].role == CONF_ACTIVE;
	return n;
}

static bool may_take(const struct control *c, const struct owned_group *g, uint64_t now_ms)
{
	return g->fleet.free_ms != 0 && now_ms >= c->fleet->quiet_ms &&
	       now_ms >= g->fleet.avoid_ms &&
	       now_ms >= g->fleet.free_ms + TAKE_EACH_MS * active_groups(c);
}

// Of the owner: its bounds are nearly used up.
static bool needs_bounds(struct control *c, struct owned_group *g, uint64_t now_ms)
{
	struct fleet_group *f = &g->fleet;
	bool inbound = now_ms >= f->inbound_ms;

	if (now_ms < f->check_ms)
		return false;
	f->check_ms = now_ms + CHECK_MS;
	if (inbound)
		f->inbound_ms = now_ms + INBOUND_MS;
	return fleet_numbers_due(c, conf_of(c, g), f->lines, inbound);
}

bool fleet_group_wants(struct control *c, struct owned_group *g, uint64_t now_ms)
{
	const struct fleet_group *f = &g->fleet;

	if (!c->fleet->registered || c->fleet->answered_ms == 0)
		return false;
	if (fleet_group_is_own(c->fleet, g) && g->role == CONF_ACTIVE)
		return needs_bounds(c, g, now_ms);
	return f->giving || f->ordered || g->role == CONF_ACTIVE || may_take(c, g, now_ms);
}

char *fleet_group_request(struct control *c, struct owned_group *g, bool stop)
{
	struct fleet_value v = {.turn = g->fleet.turn + 1, .owner = "-"};
	char key[FLEET_KEY_MAX], member[FLEET_KEY_MAX], *text = NULL, *request;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (out == NULL)
		return NULL;
	if (!stop && !g->fleet.giving) {
		memcpy(v.owner, c->conf->instance, sizeof(v.owner));
		v.lease = c->fleet->lease;
	}
	fleet_value_write(out, &v);
	g->fleet.lines = fleet_numbers_write(c, conf_of(c, g), out);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	fleet_group_key(c, key, g->name);
	fleet_member_key(c, member, c->conf->instance);
	request = etcd_replace_text(key, text, g->fleet.revision, member, c->fleet->lease);
	free(text);
	return request;
}

static void give_up(struct control *c, struct owned_group *g, uint64_t now_ms)
{
	g->fleet.ordered = false;
	g->fleet.giving = fleet_group_is_own(c->fleet, g);
	g->fleet.avoid_ms = now_ms + AVOID_MS;
	lose(c, g, now_ms);
}

bool fleet_order(struct control *c, const char *name, enum conf_role role, const char **why)
{
	struct owned_group *g = group_find(c, name);
	uint64_t now_ms = c->io->now_ms();

	*why = g == NULL ? "there is none of this name" : fleet_error(c);
	if (g == NULL || (*why)[0] != '\0')
		return false;
	if (role == CONF_STANDBY)
		give_up(c, g, now_ms);
	else
		g->fleet.ordered = g->fleet.giving || !fleet_group_is_own(c->fleet, g);
	return true;
}
