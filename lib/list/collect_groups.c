// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>

#include "collect.h"
#include "fleet.h"
#include "fleet_numbers.h"
#include "group.h"

static void addresses_write(char text[VIEW_GROUP_MAX], const struct conf_group *g)
{
	char addr[IP_ADDR_STRLEN];
	int len = 0;

	for (unsigned int i = 0; i < g->n_addrs; i++)
		len += snprintf(text + len, VIEW_GROUP_MAX - (size_t)len, "%s%s", i > 0 ? "," : "",
			ip_addr_format(addr, &g->addrs[i]));
}

static uint64_t tunnels_of(const struct control *c, const struct conf_group *g)
{
	const struct spd_policy *p;
	uint64_t n = 0;

	for (unsigned int i = 0; collect_tunnel(c, i, &p) != NULL; i++)
		for (unsigned int k = 0; p->out != NULL && k < g->n_addrs; k++)
			n += ip_addr_equal(&p->out->sa.opt.local, &g->addrs[k]);
	return n;
}

bool collect_groups(void *view, const struct control *c, unsigned int i)
{
	struct groups_view *v = view;

	if (i >= c->groups.n)
		return false;

	const struct owned_group *g = &c->groups.item[i];

	*v = (struct groups_view){.role = group_role_names[g->role],
		.active = g->role == CONF_ACTIVE,
		.role_ms = c->io->now_ms() - g->since_ms,
		.changes = g->changes,
		.announced = g->announced,
		.drain = c->fleet != NULL   ? fleet_drain_state(c, g)
			 : g->drain != NULL ? g->drain
					    : "",
		.tunnels = tunnels_of(c, &c->conf->groups[i]),
		.refused = g->fleet.refused != NULL ? g->fleet.refused : "",
		.numbers_s = c->fleet != NULL && g->role == CONF_ACTIVE
				     ? fleet_numbers_last_s(c, &c->conf->groups[i])
				     : UINT64_MAX};
	if (g->fleet.lease != 0)
		snprintf(v->owner, sizeof(v->owner), "%s", g->fleet.owner);
	snprintf(v->next, sizeof(v->next), "%s", g->fleet.next_name);
	snprintf(v->name, sizeof(v->name), "%s", g->name);
	addresses_write(v->addresses, &c->conf->groups[i]);
	return true;
}
