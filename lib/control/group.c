// SPDX-License-Identifier: BSD-3-Clause
#include "group.h"

#include <string.h>

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
	}
}

static bool has(const struct conf_group *g, const struct ip_addr *addr)
{
	for (unsigned int i = 0; i < g->n_addrs; i++)
		if (ip_addr_equal(&g->addrs[i], addr))
			return true;
	return false;
}

// The running group that has the address in the configuration, which the running ones follow.
static struct owned_group *of_address(
	struct control *c, const struct conf *conf, const struct ip_addr *addr)
{
	for (unsigned int i = 0; i < conf->n_groups; i++)
		if (has(&conf->groups[i], addr))
			return &c->groups.item[i];
	return NULL;
}

struct owned_group *group_of(struct control *c, const struct ip_addr *addr)
{
	return of_address(c, c->conf, addr);
}

bool group_address_set(
	struct control *c, const struct conf *conf, uint16_t port, const struct ip_addr *addr)
{
	const struct owned_group *g = of_address(c, conf, addr);

	if (g != NULL)
		dad_group_set(c->dad, port, addr, g->role == CONF_STANDBY);
	return g != NULL;
}
