// SPDX-License-Identifier: BSD-3-Clause
#include "role.h"

#include "address.h"
#include "announced.h"
#include "event_log.h"
#include "flow_adopt.h"
#include "group.h"
#include "member_flows.h"
#include "member_lines.h"
#include "numbers.h"
#include "originate.h"
#include "sa_table.h"

// A station or switch that misses one announcement gets another (RFC 5227 2.3, RFC 4861 7.2.6): at
// once, after 100, 300, 700 and 1500 ms.
#define ANNOUNCEMENTS 5
#define AGAIN_MS      100
#define ANNOUNCED_MS  2000  // after which they are over
#define DEFEND_MS     10000 // between two that answer others, as DEFEND_INTERVAL of RFC 5227
// While both gateways are active. Ages that differ by less depend on delays.
#define YIELD_MS       5000
#define YIELD_AGAIN_MS 60000
#define AT_ONCE_MS     1000

const char role_drained[] = "ready";

static void announce(struct control *c, const struct conf_group *g)
{
	for (uint16_t p = 0; p < c->snapshot->n_ports; p++)
		for (unsigned int i = 0; i < g->n_addrs; i++)
			originate_announcement(c, p, &g->addrs[i]);
}

static void addresses_set(struct control *c, unsigned int group)
{
	const struct conf_group *g = &c->conf->groups[group];

	for (uint16_t p = 0; p < c->snapshot->n_ports; p++)
		for (unsigned int i = 0; i < g->n_addrs; i++)
			if (snapshot_port_has(&c->snapshot->port[p], &g->addrs[i]))
				group_address_set(c, c->conf, p, &g->addrs[i]);
}

// Its addresses. SAs follow with address_apply(), and flows in clear with roles_decide_flows().
static void begin(struct control *c, unsigned int group, enum conf_role role, uint64_t now_ms)
{
	struct owned_group *owned = &c->groups.item[group];

	owned->role = role;
	owned->since_ms = now_ms;
	owned->changes++;
	owned->announcements = 0;
	owned->drain = NULL;
	owned->leaving = owned->expected = false;
	addresses_set(c, group);
	groups_note_standby(c);
}

bool roles_decide_flows(struct control *c)
{
	if (!objects_reserve(c))
		return false;
	c->ike.redecide = true;
	objects_commit(c);
	return !c->ike.redecide;
}

static void post(const struct owned_group *g)
{
	event_post(GROUP_ROLE, EVENT_TEXT(g->name), EVENT_TEXT(group_role_names[g->role]));
}

// defend_ms: for so long those of others are not answered.
static void announce_begin(
	struct control *c, struct owned_group *g, uint64_t now_ms, uint64_t defend_ms)
{
	g->announcements = ANNOUNCEMENTS;
	g->again_ms = AGAIN_MS;
	g->announce_ms = now_ms;
	g->defend_ms = now_ms + defend_ms;
	c->announced.compare_ms = now_ms;
	roles_tick(c, now_ms);
}

static void expect_end(struct control *c, struct owned_group *g)
{
	if (!g->expected)
		return;
	g->expected = false;
	g->announcements = 0;
	c->announced.compare_ms = 0;
	addresses_set(c, (unsigned int)(g - c->groups.item));
}

bool role_expect(struct control *c, const char *name, uint64_t until_ms)
{
	struct owned_group *g = group_find(c, name);

	if (g == NULL || g->role == CONF_ACTIVE)
		return false;
	g->expected = true;
	g->expected_ms = until_ms;
	addresses_set(c, (unsigned int)(g - c->groups.item));
	announce_begin(c, g, c->io->now_ms(), ANNOUNCED_MS);
	return true;
}

static void take_over(struct control *c, const struct owned_group *g, uint64_t now_ms)
{
	numbers_take_over(
		c, &c->conf->groups[g - c->groups.item], member_silent_ms(c, g, now_ms), now_ms);
	flow_adopted_keep(c->flows);
	groups_continue(c, now_ms);
}

bool role_set(struct control *c, const char *name, enum conf_role role, uint64_t now_ms)
{
	struct owned_group *g = group_find(c, name);

	if (g == NULL)
		return false;
	g->drain = NULL;
	if (g->role == role) {
		g->leaving = false;
		expect_end(c, g);
		if (role == CONF_ACTIVE)
			announce_begin(c, g, now_ms, ANNOUNCED_MS);
		return true;
	}
	if (role == CONF_ACTIVE)
		take_over(c, g, now_ms);
	else // an SA that sends since the last tick has numbers to report
		numbers_tick(c, now_ms);
	dad_roles_begin(c->dad);
	begin(c, (unsigned int)(g - c->groups.item), role, now_ms);
	if (role == CONF_STANDBY) // routers need some time
		announced_change(c);
	member_flows_begin(c);
	address_apply(c, c->snapshot);
	roles_decide_flows(c);
	dad_roles_end(c->dad);
	// A pass that has begun accepts packets: the other one has to know them.
	if (role == CONF_STANDBY)
		rte_rcu_qsbr_synchronize(c->qsbr, RTE_QSBR_THRID_INVALID);
	member_lines_tick(c, now_ms); // the numbers that it uses now
	if (role == CONF_ACTIVE)
		announce_begin(c, g, now_ms, ANNOUNCED_MS);
	post(g);
	return true;
}

static void drain_tick(struct control *c, struct owned_group *g, uint64_t now_ms)
{
	const char *missing = member_missing(c, g, now_ms);

	if (missing == NULL && g->drain != role_drained)
		event_post(GROUP_DRAINED, EVENT_TEXT(g->name));
	g->drain = missing != NULL ? missing : role_drained;
}

bool role_drain(struct control *c, const char *name, uint64_t now_ms)
{
	struct owned_group *g = group_find(c, name);

	if (g == NULL || g->role != CONF_ACTIVE || c->member.channel == NULL)
		return false;
	if (g->drain == NULL)
		drain_tick(c, g, now_ms);
	return true;
}

void roles_give_up(struct control *c, uint64_t now_ms)
{
	for (unsigned int i = 0; i < c->groups.n; i++) {
		expect_end(c, &c->groups.item[i]);
		if (c->groups.item[i].role == CONF_ACTIVE) {
			begin(c, i, CONF_STANDBY, now_ms);
			post(&c->groups.item[i]);
		}
	}
	announced_change(c);
	address_apply(c, c->snapshot);
}

void role_defend(struct control *c, const struct ip_addr *addr, uint64_t now_ms)
{
	struct owned_group *g = group_of(c, addr);

	if (g != NULL && g->role == CONF_ACTIVE && !g->leaving && now_ms >= g->defend_ms)
		announce_begin(c, g, now_ms, DEFEND_MS);
}

static void takeover_end(struct control *c)
{
	c->groups.takeover_ms = 0;
	flow_table_take_over(c->flows, false);
}

// Of two active gateways the one that has been so for longer becomes standby, if nobody else ends
// that. But not again if it is made active: then somebody insists.
static bool yields(const struct control *c, const struct owned_group *g, uint64_t now_ms)
{
	uint64_t first_ms = RTE_MIN(g->since_ms, g->other_since_ms);
	uint64_t last_ms = RTE_MAX(g->since_ms, g->other_since_ms);

	if (!g->both || g->role != CONF_ACTIVE || now_ms - g->both_ms < YIELD_MS ||
		(g->yielded_ms != 0 && now_ms - g->yielded_ms < YIELD_AGAIN_MS))
		return false;
	return last_ms - first_ms < AT_ONCE_MS ? c->conf->pair_member == 2
					       : g->since_ms == first_ms;
}

void roles_tick(struct control *c, uint64_t now_ms)
{
	if (c->groups.takeover_ms != 0 && now_ms >= c->groups.takeover_ms)
		takeover_end(c);
	for (unsigned int i = 0; i < c->groups.n; i++) {
		struct owned_group *g = &c->groups.item[i];

		if (yields(c, g, now_ms)) {
			g->yielded_ms = now_ms;
			role_set(c, g->name, CONF_STANDBY, now_ms);
		}
		if (g->drain != NULL)
			drain_tick(c, g, now_ms);
		if (g->expected && now_ms >= g->expected_ms)
			expect_end(c, g);
		if (g->announcements == 0 || now_ms < g->announce_ms)
			continue;
		announce(c, &c->conf->groups[i]);
		g->announcements--;
		g->announce_ms = now_ms + g->again_ms;
		g->again_ms *= 2;
	}
}
