// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>

#include "collect.h"
#include "fleet.h"

static bool has(const struct fleet_member *m, const struct owned_group *g)
{
	return m->lease != 0 && g->fleet.lease == m->lease;
}

static void groups_fill(struct fleet_view *v, const struct control *c, const struct fleet_member *m)
{
	for (unsigned int i = 0; i < c->groups.n; i++) {
		const struct owned_group *g = &c->groups.item[i];

		if (m != NULL ? !has(m, g) : g->role != CONF_ACTIVE)
			continue;
		v->groups++;
		v->load += c->conf->groups[i].weight;
	}
}

// The members in their order, but this one, which was the first row.
static bool other_at(const struct control *c, unsigned int i, struct fleet_member *m)
{
	for (unsigned int k = 0; fleet_member_at(c, k, m); k++)
		if (m->number != c->conf->fleet_member && i-- == 0)
			return true;
	return false;
}

// Digests that another version cannot read are not compared.
static void differing_fill(
	struct fleet_view *v, const struct control *c, const struct fleet_member *m)
{
	if (m->config[0] != '\0')
		pair_config_compare(v->differs, sizeof(v->differs), c->digests.text, m->config);
}

static void this_fill(struct fleet_view *v, const struct control *c)
{
	v->this = true;
	v->is_up = fleet_error(c)[0] == '\0';
	v->state = !v->is_up ? "without etcd" : fleet_drains(c) ? "drains" : "up";
	v->weight = c->conf->fleet_weight;
	groups_fill(v, c, NULL);
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
	if (m.drains)
		v->state = "drains";
	v->weight = m.weight;
	groups_fill(v, c, &m);
	snprintf(v->name, sizeof(v->name), "%s", m.name);
	snprintf(v->version, sizeof(v->version), "%s", m.version);
	differing_fill(v, c, &m);
	return true;
}
