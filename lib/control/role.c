// SPDX-License-Identifier: BSD-3-Clause
#include "role.h"

#include "address.h"
#include "event_log.h"
#include "group.h"
#include "originate.h"
#include "sa_table.h"

// A station or switch that misses one announcement gets another (RFC 5227 2.3, RFC 4861 7.2.6): at
// once, after 100, 300, 700 and 1500 ms.
#define ANNOUNCEMENTS 5
#define AGAIN_MS      100
#define DEFEND_MS     10000 // as DEFEND_INTERVAL of RFC 5227

static void announce(struct control *c, const struct conf_group *g)
{
	for (uint16_t p = 0; p < c->snapshot->n_ports; p++)
		for (unsigned int i = 0; i < g->n_addrs; i++)
			originate_announcement(c, p, &g->addrs[i]);
}

static void apply(struct control *c, const struct conf_group *g)
{
	for (uint16_t p = 0; p < c->snapshot->n_ports; p++)
		for (unsigned int i = 0; i < g->n_addrs; i++)
			if (snapshot_port_has(&c->snapshot->port[p], &g->addrs[i]))
				group_address_set(c, c->conf, p, &g->addrs[i]);
	address_apply(c, c->snapshot);
	groups_note_standby(c);
	if (!objects_reserve(c)) // flows in clear keep their decisions; SAs have stopped, or go on
		return;
	c->ike.redecide = true; // flows
	objects_commit(c);
}

static void announce_begin(struct control *c, struct owned_group *g, uint64_t now_ms)
{
	g->announcements = ANNOUNCEMENTS;
	g->again_ms = AGAIN_MS;
	g->announce_ms = now_ms;
	g->defend_ms = now_ms + DEFEND_MS;
	roles_tick(c, now_ms);
}

bool role_set(struct control *c, const char *name, enum conf_role role, uint64_t now_ms)
{
	struct owned_group *g = group_find(c, name);

	if (g == NULL)
		return false;
	if (g->role == role) {
		if (role == CONF_ACTIVE)
			announce_begin(c, g, now_ms);
		return true;
	}
	g->role = role;
	g->since_ms = now_ms;
	g->changes++;
	apply(c, &c->conf->groups[g - c->groups.item]);
	g->announcements = 0;
	if (role == CONF_ACTIVE)
		announce_begin(c, g, now_ms);
	event_post(GROUP_ROLE, EVENT_TEXT(g->name), EVENT_TEXT(group_role_names[role]));
	return true;
}

void role_defend(struct control *c, const struct ip_addr *addr, uint64_t now_ms)
{
	struct owned_group *g = group_of(c, addr);

	if (g != NULL && g->role == CONF_ACTIVE && now_ms >= g->defend_ms)
		announce_begin(c, g, now_ms);
}

void roles_tick(struct control *c, uint64_t now_ms)
{
	for (unsigned int i = 0; i < c->groups.n; i++) {
		struct owned_group *g = &c->groups.item[i];

		if (g->announcements == 0 || now_ms < g->announce_ms)
			continue;
		announce(c, &c->conf->groups[i]);
		g->announcements--;
		g->announce_ms = now_ms + g->again_ms;
		g->again_ms *= 2;
	}
}
