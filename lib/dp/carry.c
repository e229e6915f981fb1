// SPDX-License-Identifier: BSD-3-Clause
#include "carry.h"

#include "bits.h"
#include "dad.h"
#include "decide.h"
#include "forward.h"

static_assert(CARRY_RULES == RULE_NUMBERS, "the same numbers");

static bool is_between(const struct carry_ends *e, const struct ip_addr end[2])
{
	return (ip_prefix_contains(&e->one, &end[0]) && ip_prefix_contains(&e->other, &end[1])) ||
	       (ip_prefix_contains(&e->one, &end[1]) && ip_prefix_contains(&e->other, &end[0]));
}

static bool is_concerned(const struct carry *c, const struct ip_addr end[2])
{
	for (unsigned int i = 0; i < c->n_ends; i++)
		if (is_between(&c->ends[i], end))
			return true;
	return c->regions.any &&
	       (flow_regions_have(&c->regions, &end[0]) || flow_regions_have(&c->regions, &end[1]));
}

// Policies of IKE are in no configuration: each change of them ends the decisions.
static bool has_policy(const struct carry *c, uint16_t number)
{
	return number > SPD_MAX ? !c->rules_name_ports : bits_have(c->policies, number);
}

// Next hops that are the snapshot's own are gone with it. The numbers of hosts may be others'.
static bool may_outlive(const struct carry *c, const struct flow_decision *d)
{
	return (d->egress & (FLOW_PROTECT | FLOW_ROUTE)) != 0 &&
	       (d->ingress >= INGRESS_SA_MIN || d->ingress < PORTS_MAX) &&
	       has_policy(c, d->by.in) && has_policy(c, d->by.out) &&
	       bits_have(c->rules, d->by.rule);
}

bool carry_decision(
	const struct worker *w, const struct pkt *p, struct flow *f, const struct flow_pkt *fp)
{
	const struct snapshot *s = w->snapshot;
	struct flow_decision d;

	if (s->carried == 0 || !flow_decision_get(f, fp->dir, s->carried, &d))
		return false;
	if (fp->icmp_error || flow_table_translates(w->flows) || d.ingress != ingress_of(w, p) ||
		!may_outlive(s->carry, &d) || is_concerned(s->carry, fp->key.addr))
		return false;
	if (unlikely(dad_has_standby(w->dad)) && forward_has_standby_end(w, p))
		return false;
	return flow_decision_renew(f, fp->dir, d.mark, s->flow_generation);
}
