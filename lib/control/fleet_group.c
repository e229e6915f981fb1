// SPDX-License-Identifier: BSD-3-Clause
// Who owns a group of a fleet.
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_hash_crc.h>

#include "etcd_text.h"
#include "event_log.h"
#include "fleet_numbers.h"
#include "fleet_parts.h"
#include "fleet_value.h"
#include "group.h"
#include "numbers.h"
#include "role.h"

#define OTHERS_MS     400                 // that the first member has for each free group,
#define OTHERS_MAX_MS 3000                // for several at most
#define TAKE_EACH_MS  100                 // and those after it, each
#define AVOID_MS      10000               // a member that has given a group up leaves it to others
#define ORDER_MS      5000                // an order that etcd has not done by then is void
#define CHECK_MS      250                 // between looks at the numbers of a group
#define SURE_MS       1000                // for which a read of keys is believed
#define TURNS_MAX     (UINT64_C(1) << 32) // between two values that a member sees

static const struct conf_group *conf_of(const struct control *c, const struct owned_group *g)
{
	return &c->conf->groups[g - c->groups.item];
}

// Whether etcd has it as this process's, even if that is no member just now.
static bool has_lease(const struct fleet *f, const struct owned_group *g)
{
	return f->lease != 0 && g->fleet.lease == f->lease;
}

// Whether etcd has it as this member's, also by a value that another configuration has written.
static bool is_mine(const struct fleet *f, const struct owned_group *g)
{
	return f->registered && has_lease(f, g);
}

bool fleet_group_is_own(const struct fleet *f, const struct owned_group *g)
{
	return is_mine(f, g) && g->fleet.refused == NULL;
}

// Whether another member has it, and lives.
static bool is_others(const struct fleet *f, const struct owned_group *g)
{
	return fleet_member_of(f, g->fleet.lease) != FLEET_NONE && g->fleet.lease != f->lease;
}

static void refuse(struct owned_group *g, const char *why)
{
	if (why != NULL && g->fleet.refused != why)
		event_post(GROUP_REFUSED, EVENT_TEXT(g->name), EVENT_TEXT(why));
	g->fleet.refused = why;
}

static void owner_note(struct fleet *f, struct owned_group *g, const struct fleet_value *v)
{
	f->changed |= g->fleet.lease != v->lease || g->fleet.next != v->next_lease;
	memcpy(g->fleet.owner, v->owner, sizeof(v->owner));
	memcpy(g->fleet.next_name, v->next, sizeof(v->next));
	g->fleet.lease = v->lease;
	g->fleet.next = v->next_lease;
	g->fleet.ready = v->ready;
}

// Why a value is not used; NULL: it is, and its numbers have been taken.
static const char *value_take(
	struct control *c, struct owned_group *g, const struct etcd_key *key, uint32_t sum)
{
	struct fleet_value v;
	const char *why = fleet_value_read(&v, key->value);
	bool own = v.lease != 0 && v.lease == c->fleet->lease;
	const struct conf_group *conf = conf_of(c, g);

	owner_note(c->fleet, g, &v);
	if (why != NULL)
		return why;
	if (g->fleet.turn != 0 && v.turn > g->fleet.turn + TURNS_MAX)
		return "a number is too high";
	if (v.turn < g->fleet.turn || (v.turn == g->fleet.turn && sum != g->fleet.sum))
		why = "it is older than one before";
	else
		why = fleet_numbers_check(c, conf, v.lines, own);
	if (why != NULL && why != fleet_numbers_lack && why != fleet_numbers_fewer)
		return why; // its numbers may be wrong
	g->fleet.turn = v.turn;
	g->fleet.sum = sum;
	if (own) {
		fleet_numbers_hold(c, conf, v.lines);
		g->fleet.held = v.lease;
	} else if (v.lease == 0 || v.lease != g->fleet.held) {
		fleet_numbers_learn(c, conf, v.lines, v.lease == 0);
	} else { // it was written before this member had another lease
		fleet_numbers_note(c, conf, v.lines);
	}
	return why;
}

void fleet_group_read(struct control *c, struct owned_group *g, struct etcd_key *key)
{
	struct fleet_group *f = &g->fleet;
	// The text of a value that was accepted with this configuration.
	const bool same = key != NULL && f->coded != NULL && strcmp(f->coded, key->coded) == 0 &&
			  f->turn != 0 && f->refused == NULL && !f->unchecked;

	f->unchecked = false;
	f->revision = key != NULL ? key->revision : 0;
	free(f->coded);
	f->coded = NULL;
	if (key != NULL) {
		// After a restored backup another value can have the same revision.
		uint32_t sum = rte_hash_crc(key->value, (uint32_t)strlen(key->value), 0);

		f->coded = key->coded;
		key->coded = NULL;
		f->present = true;
		if (!same)
			refuse(g, value_take(c, g, key, sum));
		return;
	}
	owner_note(c->fleet, g, &(struct fleet_value){.owner = "-"});
	refuse(g, f->present ? "its key is missing" : NULL);
}

void fleet_group_lose(struct control *c, struct owned_group *g, uint64_t now_ms)
{
	role_set(c, g->name, CONF_STANDBY, now_ms);
	fleet_numbers_end(c, conf_of(c, g));
	g->fleet.held = g->fleet.to = 0;
	g->fleet.drains = false;
}

// Whether a value has a right owner, though this member may not use it.
static bool is_whole(const char *refused)
{
	return refused == NULL || refused == fleet_numbers_lack || refused == fleet_numbers_fewer ||
	       refused == fleet_value_later;
}

// Whether the group of an active member has another owner, or had one meanwhile, which may have
// accepted packets. A damaged value changes that only by naming another member that lives.
static bool is_lost(const struct fleet *f, const struct owned_group *g)
{
	return is_whole(g->fleet.refused) ? g->fleet.lease != g->fleet.held : is_others(f, g);
}

// After an order to give the group up, etcd may still make it this member's: by an earlier claim,
// whose answer was lost.
static void note_giving(const struct fleet *f, struct owned_group *g, uint64_t now_ms)
{
	if (now_ms >= g->fleet.ordered_ms)
		g->fleet.ordered_ms = 0;
	if (!has_lease(f, g)) {
		g->fleet.giving = false;
		if (g->role == CONF_STANDBY)
			g->fleet.to = 0;
	} else if (g->role == CONF_STANDBY && now_ms < g->fleet.avoid_ms) {
		g->fleet.giving = true;
	} else if (!g->fleet.giving) {
		g->fleet.ordered_ms = 0;
	}
}

static void note_free(const struct fleet *f, struct owned_group *g, bool sure, uint64_t now_ms)
{
	bool free = sure && g->fleet.refused == NULL && !g->fleet.unchecked && !is_others(f, g) &&
		    g->fleet.held == 0 && !fleet_group_is_own(f, g);

	if (!free)
		g->fleet.free_ms = 0;
	else if (g->fleet.free_ms == 0)
		g->fleet.free_ms = now_ms;
}

void fleet_group_follow(struct control *c, struct owned_group *g, uint64_t now_ms)
{
	const struct fleet *f = c->fleet;
	bool sure = f->answered_ms != 0 && now_ms - f->answered_ms < SURE_MS;
	bool own = fleet_group_is_own(f, g);

	note_giving(f, g, now_ms);
	if (g->role == CONF_ACTIVE && is_lost(f, g)) {
		fleet_group_lose(c, g, now_ms);
	} else if (g->role == CONF_STANDBY && sure && own && !g->fleet.giving) {
		g->fleet.held = g->fleet.lease;
		fleet_numbers_begin(c, conf_of(c, g));
		numbers_group_tick(c, (unsigned int)(g - c->groups.item), now_ms);
		role_set(c, g->name, CONF_ACTIVE, now_ms);
	}
	if (g->role == CONF_STANDBY && !own)
		g->fleet.held = 0;
	note_free(f, g, sure, now_ms);
}

// Members that are first have some time, again after each group that they take.
static bool is_in_turn(const struct fleet *f, const struct fleet_group *g, uint64_t now_ms)
{
	uint64_t since_ms = RTE_MIN(RTE_MAX(g->free_ms, f->changed_ms), g->free_ms + OTHERS_MAX_MS);

	if (g->rank == 0 || g->rank == FLEET_NONE)
		return g->rank == 0;
	return now_ms >= since_ms + OTHERS_MS + TAKE_EACH_MS * (uint64_t)(g->rank - 1);
}

// Whether its owner has given it up for this member, and so does not come back.
static bool is_meant(const struct fleet *f, const struct fleet_group *g)
{
	return g->lease == 0 && g->next == f->lease;
}

// It takes a group that it has promised to take even if it drains by now: nobody else might.
static bool may_take(const struct fleet *f, const struct owned_group *g, uint64_t now_ms)
{
	const bool meant = is_meant(f, &g->fleet);

	if (g->fleet.free_ms == 0)
		return false;
	if (meant && g->fleet.ready)
		return true;
	return now_ms >= g->fleet.avoid_ms && !f->drains && (now_ms >= f->quiet_ms || meant) &&
	       is_in_turn(f, &g->fleet, now_ms);
}

// Of the owner: its bounds are nearly used up.
static bool needs_bounds(struct control *c, struct owned_group *g, uint64_t now_ms)
{
	struct fleet_group *f = &g->fleet;

	if (now_ms < f->check_ms)
		return false;
	f->check_ms = now_ms + CHECK_MS;
	return fleet_numbers_due(c, conf_of(c, g), f->lines);
}

// Whether this member replaces no such value, whatever a command wants: its bounds are not known
// here, or its owner lives.
static bool is_kept(const struct fleet *f, const struct owned_group *g)
{
	const char *refused = g->fleet.refused;

	return refused == fleet_numbers_lack || refused == fleet_value_later ||
	       (refused != NULL && is_others(f, g));
}

bool fleet_group_wants(struct control *c, struct owned_group *g, uint64_t now_ms)
{
	const struct fleet_group *f = &g->fleet;

	if (!c->fleet->registered || c->fleet->answered_ms == 0)
		return false;
	if (fleet_move_wants(c->fleet, g))
		return true;
	if (fleet_group_is_own(c->fleet, g) && g->role == CONF_ACTIVE)
		return needs_bounds(c, g, now_ms);
	if (now_ms < f->ordered_ms && !f->unchecked && !is_kept(c->fleet, g))
		return true;
	return f->giving || g->role == CONF_ACTIVE || may_take(c->fleet, g, now_ms);
}

// Whose the group is to be.
static void value_head(
	const struct control *c, const struct owned_group *g, bool stop, struct fleet_value *v)
{
	unsigned int next = fleet_member_of(c->fleet, g->fleet.to);

	*v = (struct fleet_value){.turn = g->fleet.turn + 1, .owner = "-"};
	if (!stop && !g->fleet.giving) {
		memcpy(v->owner, c->conf->instance, sizeof(v->owner));
		v->lease = c->fleet->lease;
	}
	if (next != FLEET_NONE) {
		memcpy(v->next, c->fleet->member[next].name, sizeof(v->next));
		v->next_lease = g->fleet.to;
		v->ready = g->fleet.ready && g->fleet.next == g->fleet.to;
	}
}

// NULL: there is no memory.
static char *value_text(struct control *c, struct owned_group *g, bool stop)
{
	struct fleet_value v;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (out == NULL)
		return NULL;
	value_head(c, g, stop, &v);
	if (g->role == CONF_STANDBY && v.lease != 0)
		fleet_numbers_expect_leaps(c, conf_of(c, g));
	fleet_value_write(out, &v);
	g->fleet.lines = fleet_numbers_write(c, conf_of(c, g), out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

char *fleet_group_request(struct control *c, struct owned_group *g, bool stop)
{
	char key[FLEET_KEY_MAX], member[FLEET_KEY_MAX], *request;
	char *text = stop ? NULL : fleet_move_answer(c->fleet, g);

	if (text == NULL) {
		if (g->role == CONF_STANDBY) // after an order, or by a move, it stays for now
			g->fleet.stays = g->fleet.ordered_ms != 0 || g->expected;
		text = value_text(c, g, stop);
	}
	if (text == NULL)
		return NULL;
	fleet_group_key(c, key, g->name);
	fleet_member_key(c, member);
	request = etcd_replace_text(
		key, text, g->fleet.revision, g->fleet.coded, member, c->fleet->lease);
	free(text);
	return request;
}

static bool is_claimed(const struct fleet *f, const struct owned_group *g)
{
	return f->asked == FLEET_REPLACE && strcmp(f->writing, g->name) == 0;
}

// Also of one that etcd makes this member's just now.
static void give_up(struct control *c, struct owned_group *g, uint64_t now_ms)
{
	g->fleet.ordered_ms = 0;
	g->fleet.giving = has_lease(c->fleet, g) || is_claimed(c->fleet, g);
	g->fleet.avoid_ms = now_ms + AVOID_MS;
	fleet_group_lose(c, g, now_ms);
	fleet_move_name_next(c, g);
}

bool fleet_yields(struct control *c, const struct ip_addr *addr, uint64_t now_ms)
{
	struct owned_group *g = c->fleet != NULL ? group_of(c, addr) : NULL;

	if (g == NULL || g->role != CONF_ACTIVE || now_ms - c->fleet->keys_ms < SURE_MS)
		return false;
	g->fleet.claimed_ms = now_ms;
	g->announcements = 0;
	return true;
}

void fleet_group_yield(struct control *c, struct owned_group *g, uint64_t now_ms)
{
	const struct fleet *f = c->fleet;
	const bool answered = RTE_MAX(f->keys_ms, f->kept_ms) >= g->fleet.claimed_ms;

	if (g->fleet.claimed_ms == 0 || (!answered && now_ms < f->end_ms))
		return;
	g->fleet.claimed_ms = 0;
	if (answered) // stations may send to the other one
		role_defend(c, &conf_of(c, g)->addrs[0], now_ms);
	else if (g->role == CONF_ACTIVE)
		give_up(c, g, now_ms);
}

// Also while etcd is asked to make it the owner.
static bool may_own(const struct fleet *f, const struct owned_group *g)
{
	return g->role == CONF_ACTIVE || fleet_group_is_own(f, g) || is_claimed(f, g);
}

static bool has_group(const struct conf *conf, const char *name)
{
	for (unsigned int i = 0; i < conf->n_groups; i++)
		if (strcmp(conf->groups[i].name, name) == 0)
			return true;
	return false;
}

bool fleet_keeps_groups(struct control *c, const struct conf *conf, FILE *errors)
{
	bool good = true;

	for (unsigned int i = 0; c->fleet != NULL && i < c->groups.n; i++) {
		const struct owned_group *g = &c->groups.item[i];
		const struct conf_where *where = &conf_of(c, g)->where;

		if (has_group(conf, g->name) || !may_own(c->fleet, g))
			continue;
		fprintf(errors,
			"%s:%u: the group \"%s\" was here, and this member has it: give it up "
			"first (culvertctl group %s standby)\n",
			where->file, where->line, g->name, g->name);
		good = false;
	}
	return good;
}

bool fleet_order(struct control *c, const char *name, enum conf_role role, const char **why)
{
	struct owned_group *g = group_find(c, name);
	uint64_t now_ms = c->io->now_ms();

	*why = "there is none of this name";
	if (g != NULL)
		*why = role == CONF_ACTIVE ? fleet_error(c) : "";
	if (g != NULL && role == CONF_ACTIVE && is_kept(c->fleet, g))
		*why = g->fleet.refused;
	if (g != NULL && role == CONF_ACTIVE && c->fleet->drains)
		*why = "this member drains (culvertctl drain off)";
	if (g == NULL || (*why)[0] != '\0')
		return false;
	if (role == CONF_STANDBY) {
		give_up(c, g, now_ms);
		return true;
	}
	g->fleet.avoid_ms = 0;
	g->fleet.drains = false;
	if (g->role == CONF_ACTIVE && g->fleet.to != 0)
		fleet_move_end(c, g, now_ms);
	if (g->expected) // it does not wait for the owner
		role_set(c, name, CONF_STANDBY, now_ms);
	if (g->fleet.giving || !fleet_group_is_own(c->fleet, g))
		g->fleet.ordered_ms = now_ms + ORDER_MS;
	return true;
}
