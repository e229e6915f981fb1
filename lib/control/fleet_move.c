// SPDX-License-Identifier: BSD-3-Clause
// Moves of groups from one member of a fleet that lives to another, without loss. The owner names
// the next one in the value, which expects the group and answers that it is ready. The owner takes
// its routes back, forwards for a moment, becomes standby, and gives the group up with its exact
// numbers; the next one takes it at once. Each step ends by time: the owner keeps a group whose
// next owner does not answer, and others take one that the next owner does not.
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "announced.h"
#include "base64.h"
#include "event_log.h"
#include "fleet_parts.h"
#include "fleet_value.h"
#include "group.h"
#include "role.h"

#define READY_MS  2000  // that the next owner has for its answer,
#define ROUTES_MS 150   // and routers, to have its routes before that,
#define EXPECT_MS 1500  // and expects the group for
#define LEAVE_MS  150   // that routers have to send to the next owner
#define SURE_MS   250   // an owner without etcd gives nothing up: it could not write it
#define AVOID_MS  2000  // that others have to take the group
#define SHUN_MS   60000 // that nothing moves to a member which was not ready
#define EACH_MS   500   // for each member with more load, which moves groups first

static const struct conf_group *conf_of(const struct control *c, unsigned int i)
{
	return &c->conf->groups[i];
}

static bool is_owner(const struct fleet *f, const struct owned_group *g)
{
	return g->role == CONF_ACTIVE && fleet_group_is_own(f, g);
}

// --- where groups are ---

// Whether it takes groups. Its own state is in etcd a moment later.
static bool takes(const struct fleet *f, const struct fleet_member *m)
{
	return m->number > 0 && m->weight > 0 && !m->drains && (m->lease != f->lease || !f->drains);
}

// Whether etcd has answered so lately that it could write now.
static bool is_sure(const struct fleet *f, uint64_t now_ms)
{
	return f->answered_ms != 0 && now_ms - f->answered_ms < SURE_MS;
}

static void members_make(const struct fleet *f, struct fleet_place *p)
{
	p->n_members = f->n_members;
	for (unsigned int i = 0; i < f->n_members; i++)
		p->member[i] =
			(struct fleet_place_member){.weight = RTE_MAX(f->member[i].weight, 1u),
				.takes = takes(f, &f->member[i])};
}

static void pins_make(
	const struct fleet *f, const struct conf_group *conf, struct fleet_place_group *g)
{
	for (unsigned int i = 0; i < conf->n_pins; i++)
		for (unsigned int k = 0; k < f->n_members; k++)
			if (strcmp(f->member[k].name, conf->pins[i]) == 0) {
				g->pin[g->n_pins++] = k;
				break;
			}
}

// The member that a group moves to, or was given up for; FLEET_NONE: there is none.
static unsigned int next_of(const struct fleet *f, const struct owned_group *g)
{
	return fleet_member_of(f, g->fleet.to != 0 ? g->fleet.to : g->fleet.next);
}

// A group that was given up for a member is as one with a pin to that.
static void place_make(const struct control *c, struct fleet_place *p)
{
	const struct fleet *f = c->fleet;

	members_make(f, p);
	p->n_groups = c->groups.n;
	for (unsigned int i = 0; i < c->groups.n; i++) {
		const struct owned_group *g = &c->groups.item[i];
		struct fleet_place_group *place = &p->group[i];
		unsigned int next = next_of(f, g);

		*place = (struct fleet_place_group){.weight = conf_of(c, i)->weight,
			.owner = fleet_member_of(f, g->fleet.lease),
			.stays = g->fleet.stays || !is_owner(f, g)};
		if (next != FLEET_NONE && place->owner == FLEET_NONE)
			place->pin[place->n_pins++] = next;
		else if (next != FLEET_NONE)
			place->owner = next;
		pins_make(f, conf_of(c, i), place);
	}
	fleet_place_load(p);
}

// Groups that were given up for a member count as groups that it has.
static void place_expect(const struct control *c, struct fleet_place *p)
{
	for (unsigned int i = 0; i < c->groups.n; i++)
		if (p->group[i].owner == FLEET_NONE)
			p->group[i].owner = next_of(c->fleet, &c->groups.item[i]);
	fleet_place_load(p);
}

// After members or their weights have changed, each group may move once.
static void members_note(struct control *c, uint64_t now_ms)
{
	struct fleet *f = c->fleet;

	if (!f->members_changed && f->n_members == f->n_noted && f->members_ms != 0)
		return;
	f->members_changed = false;
	f->n_noted = f->n_members;
	f->members_ms = now_ms;
	for (unsigned int i = 0; i < c->groups.n; i++)
		c->groups.item[i].fleet.stays = false;
}

// --- the owner ---

static void move_begin(struct control *c, struct owned_group *g, unsigned int to, uint64_t now_ms)
{
	c->fleet->read_ms = 0; // keys are read more often from now on
	g->fleet.to = c->fleet->member[to].lease;
	g->fleet.move_ms = now_ms + READY_MS;
	g->defend_ms = RTE_MAX(g->defend_ms, now_ms + READY_MS); // the next one announces them
}

// The next owner may have announced its addresses, and do it again a moment later.
void fleet_move_end(struct control *c, struct owned_group *g, uint64_t now_ms)
{
	g->fleet.to = 0;
	role_set(c, g->name, CONF_ACTIVE, now_ms);
	g->defend_ms = now_ms;
}

static void shun(struct fleet *f, int64_t lease, uint64_t now_ms)
{
	unsigned int i = fleet_member_of(f, lease);

	if (i == FLEET_NONE)
		return;
	f->shunned_ms[f->member[i].number] = now_ms + SHUN_MS;
	f->shunned[f->member[i].number] = lease;
}

static void hand_over(struct control *c, struct owned_group *g, uint64_t now_ms)
{
	const int64_t to = g->fleet.to;

	fleet_group_lose(c, g, now_ms);
	g->fleet.to = to;
	g->fleet.giving = true;
	g->fleet.avoid_ms = now_ms + AVOID_MS;
}

// Whether it lives, and does not drain meanwhile.
static bool may_receive(const struct fleet *f, int64_t lease)
{
	unsigned int i = fleet_member_of(f, lease);

	return i != FLEET_NONE && takes(f, &f->member[i]);
}

static void owner_tick(struct control *c, struct owned_group *g, uint64_t now_ms)
{
	struct fleet *f = c->fleet;
	struct fleet_group *m = &g->fleet;
	bool sure = is_sure(f, now_ms);

	if (m->to == 0)
		return;
	if (!may_receive(f, m->to)) {
		fleet_move_end(c, g, now_ms);
	} else if (now_ms >= m->move_ms + READY_MS || (!g->leaving && now_ms >= m->move_ms)) {
		if (sure) // else its answer may not have been read
			shun(f, m->to, now_ms);
		fleet_move_end(c, g, now_ms);
	} else if (!g->leaving && m->next == m->to && m->ready) {
		g->leaving = true;
		announced_change(c);
		m->move_ms = now_ms + LEAVE_MS;
	} else if (g->leaving && now_ms >= m->move_ms && sure) {
		hand_over(c, g, now_ms);
	}
}

void fleet_move_name_next(struct control *c, struct owned_group *g)
{
	const struct fleet *f = c->fleet;
	unsigned int i = (unsigned int)(g - c->groups.item),
		     next = fleet_member_of(f, g->fleet.next);
	struct fleet_place p;

	place_make(c, &p);
	place_expect(c, &p);
	p.group[i].owner = fleet_member_of(f, f->lease);
	if (next == FLEET_NONE || next == p.group[i].owner)
		next = fleet_place_next(&p, i);
	g->fleet.to = next != FLEET_NONE ? f->member[next].lease : 0;
}

// --- the next owner ---

// Whether the owner, which lives, waits for the answer of this member.
static bool is_asked(const struct fleet *f, const struct owned_group *g)
{
	return f->registered && g->fleet.next == f->lease && !g->fleet.ready &&
	       g->fleet.lease != f->lease && fleet_member_of(f, g->fleet.lease) != FLEET_NONE;
}

// Once for each value: an owner that is cut off from etcd gives up nothing.
static void next_tick(struct control *c, struct owned_group *g, uint64_t now_ms)
{
	const struct fleet *f = c->fleet;
	struct fleet_group *m = &g->fleet;

	if (g->role != CONF_STANDBY)
		return;
	if (is_asked(f, g) && !f->drains && m->refused == NULL && !m->unchecked &&
		m->ordered_ms == 0 && m->answered != m->turn) {
		m->answered = m->turn;
		m->avoid_ms = 0; // the owner counts on it
		c->fleet->read_ms = 0;
		m->ready_ms = now_ms + (c->conf->announce_metric != 0 ? ROUTES_MS : 0);
		role_expect(c, g->name, now_ms + EXPECT_MS);
	}
	m->may_answer = g->expected && now_ms >= m->ready_ms;
	if (g->expected && (!f->registered || m->next != f->lease))
		role_set(c, g->name, CONF_STANDBY, now_ms);
}

static bool answers(const struct fleet *f, const struct owned_group *g)
{
	return g->fleet.may_answer && g->expected && !f->drains && is_asked(f, g);
}

char *fleet_move_answer(const struct fleet *f, const struct owned_group *g)
{
	size_t len;
	char *theirs, *text = NULL;
	struct fleet_value v;
	FILE *out;

	if (!answers(f, g))
		return NULL;
	theirs = base64_read(g->fleet.coded, &len);
	out = theirs != NULL ? open_memstream(&text, &len) : NULL;
	if (out != NULL && fleet_value_read(&v, theirs) == NULL) {
		v.turn++;
		v.ready = true;
		fleet_value_write(out, &v);
		fputs(v.lines, out);
	}
	free(theirs);
	if (out == NULL || fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

bool fleet_move_wants(const struct fleet *f, const struct owned_group *g)
{
	return is_owner(f, g) ? g->fleet.to != g->fleet.next : answers(f, g);
}

bool fleet_moves(const struct control *c)
{
	for (unsigned int i = 0; i < c->groups.n; i++)
		if (c->groups.item[i].fleet.to != 0 || c->groups.item[i].expected)
			return true;
	return false;
}

// --- which group moves next ---

static bool must_leave(const struct fleet *f, const struct owned_group *g)
{
	return is_owner(f, g) && (f->drains || g->fleet.drains);
}

static void shunned_note(const struct fleet *f, struct fleet_place *p, uint64_t now_ms)
{
	for (unsigned int i = 0; i < f->n_members; i++) {
		const struct fleet_member *m = &f->member[i];

		p->member[i].shunned =
			f->shunned[m->number] == m->lease && now_ms < f->shunned_ms[m->number];
	}
}

// Whether nothing moves in the whole fleet, or is free.
static bool is_calm(const struct control *c)
{
	for (unsigned int i = 0; i < c->groups.n; i++) {
		const struct fleet_group *g = &c->groups.item[i].fleet;

		if (g->refused == NULL &&
			(fleet_member_of(c->fleet, g->lease) == FLEET_NONE || g->next != 0))
			return false;
	}
	return true;
}

static bool may_rebalance(
	const struct control *c, const struct fleet_place *p, unsigned int own, uint64_t now_ms)
{
	const struct fleet *f = c->fleet;
	const uint64_t after_ms = UINT64_C(1000) * c->conf->fleet_rebalance_s;
	const uint64_t since_ms = RTE_MAX(f->members_ms + after_ms, f->changed_ms);

	return after_ms != 0 && is_calm(c) &&
	       now_ms >= since_ms + EACH_MS * fleet_place_fuller(p, own);
}

// Members that were not ready once are better than none.
static unsigned int next_at_once(struct fleet_place *p, unsigned int group)
{
	unsigned int to = fleet_place_next(p, group);

	if (to != FLEET_NONE)
		return to;
	for (unsigned int i = 0; i < p->n_members; i++)
		p->member[i].shunned = false;
	return fleet_place_next(p, group);
}

// All groups that others can take, without waiting for these. The next owner of each takes it even
// if it drains by now, as one that has answered: else nobody has it if all members drain at the
// same time.
static void leave_at_once(struct control *c, struct fleet_place *p, uint64_t now_ms)
{
	const struct fleet *f = c->fleet;

	for (unsigned int i = 0; i < c->groups.n; i++) {
		struct owned_group *g = &c->groups.item[i];
		unsigned int to;

		if (!is_owner(f, g))
			continue;
		p->group[i].owner = fleet_member_of(f, f->lease); // also of one that moves
		to = next_at_once(p, i);
		if (to == FLEET_NONE)
			continue;
		p->group[i].owner = to;
		fleet_place_load(p);
		g->fleet.to = g->fleet.next = f->member[to].lease;
		g->fleet.ready = true;
		hand_over(c, g, now_ms);
	}
}

// One at a time, so that each is decided with the loads after the one before.
static void move_choose(struct control *c, uint64_t now_ms)
{
	struct fleet *f = c->fleet;
	unsigned int own = fleet_member_of(f, f->lease), group, to = FLEET_NONE;
	struct fleet_place p;

	if (own == FLEET_NONE || !is_sure(f, now_ms))
		return;
	place_make(c, &p);
	place_expect(c, &p);
	shunned_note(f, &p, now_ms);
	if (f->drains_now)
		leave_at_once(c, &p, now_ms);
	for (group = 0; group < c->groups.n; group++)
		if (must_leave(f, &c->groups.item[group]) &&
			(to = fleet_place_next(&p, group)) != FLEET_NONE)
			break;
	if (to != FLEET_NONE ||
		(may_rebalance(c, &p, own, now_ms) && fleet_place_move(&p, own, &group, &to)))
		move_begin(c, &c->groups.item[group], to, now_ms);
}

static bool is_moving(const struct control *c)
{
	for (unsigned int i = 0; i < c->groups.n; i++) {
		const struct owned_group *g = &c->groups.item[i];

		if (g->fleet.to != 0 || (is_owner(c->fleet, g) && g->fleet.next != 0))
			return true;
	}
	return false;
}

void fleet_moves_read(struct control *c, uint64_t now_ms)
{
	struct fleet *f = c->fleet;
	unsigned int rank[CONF_GROUPS_MAX];
	struct fleet_place p;

	members_note(c, now_ms);
	if (f->changed)
		f->changed_ms = now_ms;
	f->changed = false;
	place_make(c, &p);
	fleet_place_rank(&p, fleet_member_of(f, f->lease), rank);
	for (unsigned int i = 0; i < c->groups.n; i++)
		c->groups.item[i].fleet.rank = rank[i];
	if (!is_moving(c) || f->drains_now)
		move_choose(c, now_ms);
}

// Whether this member has a group, or may get one by a write that etcd does just now.
static bool has_groups(const struct control *c)
{
	bool has = c->fleet->asked == FLEET_REPLACE;

	for (unsigned int i = 0; i < c->groups.n; i++)
		has |= c->groups.item[i].role == CONF_ACTIVE || c->groups.item[i].fleet.giving;
	return has;
}

// The event is posted when the last group has gone.
static void note_drained(struct control *c)
{
	struct fleet *f = c->fleet;
	bool drained = f->drains && !has_groups(c);

	if (drained && !f->drained)
		event_post(FLEET_DRAINED, EVENT_TEXT(c->conf->instance));
	f->drained = drained;
}

void fleet_moves_tick(struct control *c, uint64_t now_ms)
{
	for (unsigned int i = 0; i < c->groups.n; i++) {
		struct owned_group *g = &c->groups.item[i];

		if (is_owner(c->fleet, g))
			owner_tick(c, g, now_ms);
		next_tick(c, g, now_ms);
	}
	note_drained(c);
}

// --- commands ---

bool fleet_drain_group(struct control *c, const char *name, const char **why)
{
	struct owned_group *g = group_find(c, name);

	*why = "there is none of this name";
	if (g != NULL)
		*why = g->role == CONF_ACTIVE ? fleet_error(c) : "this member does not have it";
	if ((*why)[0] != '\0')
		return false;
	g->fleet.drains = true;
	return true;
}

bool fleet_drain(struct control *c, bool drains)
{
	if (c->fleet == NULL)
		return false;
	c->fleet->drains = drains;
	c->fleet->drains_now = c->fleet->drained = false;
	for (unsigned int i = 0; i < c->groups.n && drains; i++)
		c->groups.item[i].fleet.ordered_ms = 0;
	return true;
}

bool fleet_drain_now(struct control *c)
{
	if (!fleet_drain(c, true))
		return false;
	c->fleet->drains_now = true;
	return true;
}

bool fleet_drains(const struct control *c)
{
	return c->fleet != NULL && c->fleet->drains;
}

const char *fleet_drain_state(const struct control *c, const struct owned_group *g)
{
	if (c->fleet == NULL || !must_leave(c->fleet, g))
		return "";
	return g->fleet.to != 0 ? "moves" : "waits";
}
