// SPDX-License-Identifier: BSD-3-Clause
#include "fleet_place.h"

void fleet_place_load(struct fleet_place *p)
{
	for (unsigned int i = 0; i < p->n_members; i++)
		p->member[i].load = 0;
	for (unsigned int i = 0; i < p->n_groups; i++)
		if (p->group[i].owner != FLEET_NONE)
			p->member[p->group[i].owner].load += p->group[i].weight;
}

// Of two loads of two members, in relation to their weights: below 0, 0 or above.
static int compare(const struct fleet_place_member *a, uint64_t load_a,
	const struct fleet_place_member *b, uint64_t load_b)
{
	uint64_t x = load_a * b->weight, y = load_b * a->weight;

	return (x > y) - (x < y);
}

// The place of a member among the pins of a group; n_pins: it has none.
static unsigned int pin_of(const struct fleet_place_group *g, unsigned int member)
{
	unsigned int i = 0;

	while (i < g->n_pins && g->pin[i] != member)
		i++;
	return i;
}

// Whether a is to have the group, which neither has, rather than b.
static bool is_before(const struct fleet_place *p, const struct fleet_place_group *g,
	unsigned int a, unsigned int b)
{
	const struct fleet_place_member *x = &p->member[a], *y = &p->member[b];
	unsigned int pin_a = pin_of(g, a), pin_b = pin_of(g, b);
	int order = compare(x, x->load + g->weight, y, y->load + g->weight);

	if (x->takes != y->takes)
		return x->takes;
	if (pin_a != pin_b)
		return pin_a < pin_b;
	return order != 0 ? order < 0 : a < b;
}

// The heaviest one that is free; FLEET_NONE: none is.
static unsigned int free_group(const struct fleet_place *p)
{
	unsigned int found = FLEET_NONE;

	for (unsigned int i = 0; i < p->n_groups; i++)
		if (p->group[i].owner == FLEET_NONE &&
			(found == FLEET_NONE || p->group[i].weight > p->group[found].weight))
			found = i;
	return found;
}

void fleet_place_rank(
	const struct fleet_place *p, unsigned int member, unsigned int rank[CONF_GROUPS_MAX])
{
	struct fleet_place plan = *p;
	unsigned int i;

	for (i = 0; i < p->n_groups; i++)
		rank[i] = FLEET_NONE;
	if (member >= p->n_members || !p->member[member].takes)
		return;
	while ((i = free_group(&plan)) != FLEET_NONE) {
		struct fleet_place_group *g = &plan.group[i];

		g->owner = member;
		rank[i] = 0;
		for (unsigned int k = 0; k < plan.n_members; k++) {
			rank[i] += k != member && is_before(&plan, g, k, member);
			if (is_before(&plan, g, k, g->owner))
				g->owner = k;
		}
		plan.member[g->owner].load += g->weight;
	}
}

unsigned int fleet_place_next(const struct fleet_place *p, unsigned int group)
{
	const struct fleet_place_group *g = &p->group[group];
	unsigned int next = FLEET_NONE;

	for (unsigned int i = 0; i < p->n_members; i++)
		if (i != g->owner && p->member[i].takes && !p->member[i].shunned &&
			(next == FLEET_NONE || is_before(p, g, i, next)))
			next = i;
	return next;
}

// The first of its pins that takes groups; FLEET_NONE: none does.
static unsigned int first_pin(const struct fleet_place *p, const struct fleet_place_group *g)
{
	for (unsigned int i = 0; i < g->n_pins; i++)
		if (p->member[g->pin[i]].takes)
			return g->pin[i];
	return FLEET_NONE;
}

// After a move from one member to another.
struct peak {
	const struct fleet_place_member *member; // the fuller one of both,
	uint64_t load;                           // and its load
};

static struct peak peak_after(
	const struct fleet_place *p, uint64_t weight, unsigned int from, unsigned int to)
{
	const struct fleet_place_member *a = &p->member[from], *b = &p->member[to];

	if (compare(a, a->load - weight, b, b->load + weight) > 0)
		return (struct peak){a, a->load - weight};
	return (struct peak){b, b->load + weight};
}

bool fleet_place_move(
	const struct fleet_place *p, unsigned int member, unsigned int *group, unsigned int *to)
{
	// A move that leaves the load of the fuller one of both as it is evens nothing out.
	struct peak best = {&p->member[member], p->member[member].load};
	bool found = false;

	for (unsigned int i = 0; i < p->n_groups; i++) {
		const struct fleet_place_group *g = &p->group[i];
		unsigned int pin = first_pin(p, g);

		if (g->owner != member || g->stays)
			continue;
		if (pin != FLEET_NONE && pin != member && !p->member[pin].shunned) {
			*group = i;
			*to = pin;
			return true;
		}
		for (unsigned int k = 0; pin == FLEET_NONE && k < p->n_members; k++) {
			struct peak after = peak_after(p, g->weight, member, k);
			int order = compare(after.member, after.load, best.member, best.load);

			// Of several with the same peak to the one that has the least load.
			if (k == member || !p->member[k].takes || p->member[k].shunned ||
				order > 0 || (order == 0 && !(found && is_before(p, g, k, *to))))
				continue;
			best = after;
			*group = i;
			*to = k;
			found = true;
		}
	}
	return found;
}

unsigned int fleet_place_fuller(const struct fleet_place *p, unsigned int member)
{
	const struct fleet_place_member *m = &p->member[member];
	unsigned int n = 0;

	for (unsigned int i = 0; i < p->n_members; i++) {
		int order = compare(&p->member[i], p->member[i].load, m, m->load);

		n += order > 0 || (order == 0 && i < member);
	}
	return n;
}
