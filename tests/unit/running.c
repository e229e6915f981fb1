// SPDX-License-Identifier: BSD-3-Clause
#include "running.h"

#include "test.h"

struct sa *running_sa_at(const struct snapshot *s, unsigned int i)
{
	return sa_list_at(&s->objects->sas, i);
}

unsigned int running_sas(const struct snapshot *s)
{
	return s->objects->sas.n_in + s->objects->sas.n_out;
}

struct sa *running_sa(const struct snapshot *s, const char *name)
{
	struct sa *sa;

	for (unsigned int i = 0; (sa = running_sa_at(s, i)) != NULL; i++)
		if (strcmp(sa->live.name, name) == 0)
			return sa;
	fail_msg("no SA %s", name);
	return NULL;
}

struct sa_in *running_sa_in(const struct snapshot *s, const char *name)
{
	struct sa *sa = running_sa(s, name);

	assert_int_equal(sa->opt.direction, SA_IN);
	return sa_in_of(sa);
}

struct sa_out *running_sa_out(const struct snapshot *s, const char *name)
{
	struct sa *sa = running_sa(s, name);

	assert_int_equal(sa->opt.direction, SA_OUT);
	return sa_out_of(sa);
}

void running_last_sas_of_ike(struct snapshot *s, bool of_ike)
{
	if (of_ike)
		s->control->n_sa -= 2;
	else
		s->control->n_sa += 2;
}

struct sa_ledger *running_ledger(const struct snapshot *s)
{
	return s->objects->ledger;
}

const struct spd_policy *running_policy(const struct snapshot *s, const char *name)
{
	const struct spd_policy *p;

	for (unsigned int i = 0; (p = snapshot_policy_at(s, i)) != NULL; i++)
		if (strcmp(p->name, name) == 0)
			return p;
	fail_msg("no policy %s", name);
	return NULL;
}

unsigned int running_policies(const struct snapshot *s)
{
	unsigned int n = 0;

	while (snapshot_policy_at(s, n) != NULL)
		n++;
	return n;
}

bool running_clamps_mss(const struct snapshot *s)
{
	return s->mss_clamped;
}

const struct spd_policy *running_policy_for(const struct snapshot *s, const struct ip_view *packet)
{
	return spd_find_outbound(s->spd, packet);
}

const struct rule *running_rule_for(const struct snapshot *s, const struct classifier_key *packet)
{
	return rule_set_at(s->rules, rule_set_decide(s->rules, RULE_FORWARD, packet, RULE_NEW));
}

const struct nexthop *running_route(const struct snapshot *s, const struct ip_addr *to)
{
	return route_find(s->routes, to);
}

const struct iface *running_iface(const struct snapshot *s, unsigned int port)
{
	return &s->iface[port];
}

struct decided running_policy_decided(
	const struct snapshot *s, const char *name, unsigned int worker)
{
	const struct spd_policy *p = running_policy(s, name);

	return s->objects->decisions[DECIDER_POLICY]->worker[worker][p->number];
}

struct decided running_policy_sum(const struct snapshot *s, const char *name)
{
	const struct spd_policy *p = running_policy(s, name);

	return decisions_sum(s->objects->decisions[DECIDER_POLICY], p->number);
}

static unsigned int rule_named(const struct snapshot *s, const char *name)
{
	for (unsigned int i = 0; i < rule_set_count(s->rules); i++)
		if (strcmp(rule_set_at(s->rules, i)->name, name) == 0)
			return rule_set_at(s->rules, i)->number;
	fail_msg("no rule %s", name);
	return 0;
}

struct decided running_rule_decided(const struct snapshot *s, const char *name, unsigned int worker)
{
	return s->objects->decisions[DECIDER_RULE]->worker[worker][rule_named(s, name)];
}

struct decided running_rule_sum(const struct snapshot *s, const char *name)
{
	return decisions_sum(s->objects->decisions[DECIDER_RULE], rule_named(s, name));
}

struct decided running_nat_sum(const struct snapshot *s, const char *name)
{
	for (unsigned int i = 0; i < nat_set_count(s->nat); i++) {
		const struct nat_rule *r = nat_set_at(s->nat, i);

		if (strcmp(r->name, name) == 0)
			return decisions_sum(s->objects->decisions[DECIDER_NAT], r->number);
	}
	fail_msg("no rule of nat %s", name);
	return (struct decided){0};
}

uint64_t running_lookups(const struct snapshot *s, unsigned int worker)
{
	const struct spd_policy *p;
	uint64_t sum = 0;

	for (unsigned int i = 0; (p = snapshot_policy_at(s, i)) != NULL; i++)
		sum += s->objects->decisions[DECIDER_POLICY]->worker[worker][p->number].asked;
	return sum;
}
