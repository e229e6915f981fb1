// SPDX-License-Identifier: BSD-3-Clause
#include "group.h"

#include <stdlib.h>
#include <string.h>

#include "fleet.h"

const char *const group_role_names[] = {[CONF_ACTIVE] = "active", [CONF_STANDBY] = "standby"};

static struct owned_group *find(struct owned_groups *all, const char *name)
{
	for (unsigned int i = 0; i < all->n; i++)
		if (strcmp(all->item[i].name, name) == 0)
			return &all->item[i];
	return NULL;
}

struct owned_group *group_find(struct control *c, const char *name)
{
	return find(&c->groups, name);
}

static bool address_keeps_role(struct control *c, const struct owned_group *from,
	const struct ip_addr *addr, const struct conf *conf, FILE *errors)
{
	const struct conf_group *to = conf_group_of(conf, addr);
	const struct owned_group *same = to != NULL ? group_find(c, to->name) : NULL;
	enum conf_role role = same != NULL ? same->role : to != NULL ? to->role : CONF_ACTIVE;
	int port = conf_own_port(conf, addr);
	const struct conf_where *where;
	char text[IP_ADDR_STRLEN];

	if (role == from->role || port < 0)
		return true;
	where = to != NULL ? &to->where : &conf->ports[port].where;
	fprintf(errors,
		"%s:%u: %s is of the group \"%s\", which is %s, and would become %s: make it %s "
		"first (culvertctl group %s %s)\n",
		where->file, where->line, ip_addr_format(text, addr), from->name,
		group_role_names[from->role], group_role_names[role], group_role_names[role],
		from->name, group_role_names[role]);
	return false;
}

bool groups_keep_roles(struct control *c, const struct conf *conf, FILE *errors)
{
	bool good = true;

	for (unsigned int i = 0; i < c->groups.n; i++)
		for (unsigned int k = 0; k < c->conf->groups[i].n_addrs; k++)
			good &= address_keeps_role(
				c, &c->groups.item[i], &c->conf->groups[i].addrs[k], conf, errors);
	return fleet_keeps_groups(c, conf, errors) && good;
}

void groups_follow(struct control *c, const struct conf *conf)
{
	struct owned_groups before = c->groups;

	c->groups.n = conf->n_groups;
	for (unsigned int i = 0; i < conf->n_groups; i++) {
		const struct conf_group *g = &conf->groups[i];
		const struct owned_group *same = find(&before, g->name);

		c->groups.item[i] = same != NULL ? *same
						 : (struct owned_group){.role = g->role,
							   .since_ms = c->io->now_ms()};
		memcpy(c->groups.item[i].name, g->name, sizeof(g->name));
		c->groups.item[i].fleet.unchecked = true;
		c->groups.item[i].fleet.stays = false;
	}
	for (unsigned int i = 0; i < before.n; i++)
		if (find(&c->groups, before.item[i].name) == NULL)
			free(before.item[i].fleet.coded);
	groups_note_standby(c);
}

static void sa_add(struct control *c, struct sa *sa)
{
	const struct conf_group *g = conf_group_of(c->conf, &sa->opt.local);
	struct sa **first = &c->groups.sas[g != NULL ? g - c->conf->groups : CONF_GROUPS_MAX];

	sa->group_next = *first;
	*first = sa;
}

// An SA that the configuration has twice is one, which is added once.
void groups_sas_follow(struct control *c)
{
	const struct snapshot_control *s = c->snapshot->control;

	memset(c->groups.sas, 0, sizeof(c->groups.sas));
	if (c->conf->fleet_member == 0)
		return;
	for (unsigned int i = 0; i < s->n_sa; i++)
		s->sa[i]->group_next = s->sa[i];
	for (unsigned int i = s->n_sa; i-- > 0;)
		if (s->sa[i]->group_next == s->sa[i])
			sa_add(c, s->sa[i]);
}

void groups_note_standby(struct control *c)
{
	struct objects *o = c->snapshot->objects;
	bool standby = c->groups.n > 0;

	for (unsigned int i = 0; i < c->groups.n; i++)
		standby &= c->groups.item[i].role == CONF_STANDBY;
	c->tunnels_changed |= standby != objects_are_standby(o); // for routes with skip
	atomic_store_explicit(&o->standby, standby, memory_order_relaxed);
}

const char groups_ready[] = "ready\n";

const char *groups_state(const struct control *c)
{
	if (c->started_ms == 0)
		return "starting\n";
	if (fleet_drains(c))
		return "drains\n";
	for (unsigned int i = 0; i < c->groups.n; i++)
		if (c->groups.item[i].role == CONF_ACTIVE)
			return groups_ready;
	return c->groups.n == 0 ? groups_ready : "standby\n";
}

// The running group that has the address in the configuration, which the running ones follow.
static struct owned_group *running(
	struct control *c, const struct conf *conf, const struct ip_addr *addr)
{
	const struct conf_group *g = conf_group_of(conf, addr);

	return g != NULL ? &c->groups.item[g - conf->groups] : NULL;
}

struct owned_group *group_of(struct control *c, const struct ip_addr *addr)
{
	return running(c, c->conf, addr);
}

bool group_address_set(
	struct control *c, const struct conf *conf, uint16_t port, const struct ip_addr *addr)
{
	const struct owned_group *g = running(c, conf, addr);

	if (g != NULL)
		dad_group_set(c->dad, port, addr,
			g->role == CONF_ACTIVE ? DAD_ASSIGNED
			: g->expected          ? DAD_EXPECTED
					       : DAD_STANDBY);
	return g != NULL;
}

void groups_continue(struct control *c, uint64_t now_ms)
{
	c->groups.takeover_ms = now_ms + UINT64_C(1000) * c->conf->takeover_s;
	flow_table_take_over(c->flows, true);
}
