// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>
#include <string.h>

#include "collect.h"
#include "fleet.h"

static uint64_t groups_of(const struct control *c, const struct fleet_member *m)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < c->groups.n; i++)
		n += m->lease != 0 && c->groups.item[i].fleet.lease == m->lease;
	return n;
}

// The members in their order, but this one, which was the first row.
static bool other_at(const struct control *c, unsigned int i, struct fleet_member *m)
{
	for (unsigned int k = 0; fleet_member_at(c, k, m); k++)
		if (strcmp(m->name, c->conf->instance) != 0 && i-- == 0)
			return true;
	return false;
}

static void this_fill(struct fleet_view *v, const struct control *c)
{
	v->this = true;
	v->is_up = fleet_error(c)[0] == '\0';
	v->state = v->is_up ? "up" : "without etcd";
	for (unsigned int i = 0; i < c->groups.n; i++)
		v->groups += c->groups.item[i].role == CONF_ACTIVE;
	snprintf(v->name, sizeof(v->name), "%s", c->conf->instance);
	snprintf(v->version, sizeof(v->version), "%s", c->version);
	snprintf(v->error, sizeof(v->error), "%s", fleet_error(c));
}

bool collect_fleet(void *view, const struct control *c, unsigned int i)
{
	struct fleet_view *v = view;
	struct fleet_member m;

	if (c->fleet == NULL || (i > 0 && !other_at(c, i - 1, &m)))
		return false;
	*v = (struct fleet_view){.state = "up", .is_up = 1};
	if (i == 0) {
		this_fill(v, c);
		return true;
	}
	v->groups = groups_of(c, &m);
	snprintf(v->name, sizeof(v->name), "%s", m.name);
	snprintf(v->version, sizeof(v->version), "%s", m.version);
	return true;
}
