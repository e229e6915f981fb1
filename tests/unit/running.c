// SPDX-License-Identifier: BSD-3-Clause
#include "running.h"

#include "test.h"

struct sa *running_sa_at(const struct snapshot *s, unsigned int i)
{
	if (i < s->n_sa_in)
		return &s->sa_in[i]->sa;
	i -= s->n_sa_in;
	return i < s->n_sa_out ? &s->sa_out[i]->sa : NULL;
}

unsigned int running_sas(const struct snapshot *s)
{
	return s->n_sa_in + s->n_sa_out;
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
	s->control->n_configured[SA_IN] = s->n_sa_in - of_ike;
	s->control->n_configured[SA_OUT] = s->n_sa_out - of_ike;
}

struct sa_ledger *running_ledger(const struct snapshot *s)
{
	return s->control->ledger;
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

const struct snapshot_port *running_port(const struct snapshot *s, unsigned int port)
{
	return &s->port[port];
}

static const struct decisions *decisions_of(const struct snapshot *s, const struct spd_policy *p)
{
	return snapshot_policy_set(s, p->number)->decisions;
}

struct decided running_policy_decided(
	const struct snapshot *s, const char *name, unsigned int worker)
{
	const struct spd_policy *p = running_policy(s, name);

	return decisions_of(s, p)->worker[worker][spd_number_place(p->number)];
}

struct decided running_policy_sum(const struct snapshot *s, const char *name)
{
	const struct spd_policy *p = running_policy(s, name);

	return decisions_sum(decisions_of(s, p), spd_number_place(p->number));
}

static unsigned int rule_named(const struct snapshot *s, const char *name)
{
	for (unsigned int i = 0; i < rule_set_count(s->rules); i++)
		if (strcmp(rule_set_at(s->rules, i)->name, name) == 0)
			return i;
	fail_msg("no rule %s", name);
	return 0;
}

struct decided running_rule_decided(const struct snapshot *s, const char *name, unsigned int worker)
{
	return s->rule_decisions->worker[worker][rule_named(s, name)];
}

struct decided running_rule_sum(const struct snapshot *s, const char *name)
{
	return decisions_sum(s->rule_decisions, rule_named(s, name));
}

uint64_t running_lookups(const struct snapshot *s, unsigned int worker)
{
	const struct spd_policy *p;
	uint64_t sum = 0;

	for (unsigned int i = 0; (p = snapshot_policy_at(s, i)) != NULL; i++)
		sum += decisions_of(s, p)->worker[worker][spd_number_place(p->number)].asked;
	return sum;
}
