// SPDX-License-Identifier: BSD-3-Clause
#include "build_counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool ports_equal(const struct acl_port_range *a, const struct acl_port_range *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static bool prefixes_equal(const struct ip_prefix *a, const struct ip_prefix *b)
{
	return a->len == b->len && ip_addr_equal(&a->addr, &b->addr);
}

static bool policies_equal(const struct spd_policy *a, const struct spd_policy *b)
{
	return a->action == b->action && prefixes_equal(&a->local, &b->local) &&
	       prefixes_equal(&a->remote, &b->remote) && a->family == b->family &&
	       a->proto == b->proto && ports_equal(&a->local_port, &b->local_port) &&
	       ports_equal(&a->remote_port, &b->remote_port);
}

// Tunnels are numbers of policies, which say nothing in another snapshot.
static bool rules_equal(const struct rule *a, const struct rule *b)
{
	return a->action == b->action && a->scope == b->scope && a->states == b->states &&
	       prefixes_equal(&a->source, &b->source) &&
	       prefixes_equal(&a->destination, &b->destination) && a->family == b->family &&
	       a->proto == b->proto && ports_equal(&a->source_port, &b->source_port) &&
	       ports_equal(&a->destination_port, &b->destination_port) && a->in == b->in &&
	       a->out == b->out;
}

static int compare_policies(const void *a, const void *b)
{
	const struct spd_policy *x = *(const struct spd_policy *const *)a;
	const struct spd_policy *y = *(const struct spd_policy *const *)b;

	return strcmp(x->name, y->name);
}

static int compare_rules(const void *a, const void *b)
{
	const struct rule *x = *(const struct rule *const *)a, *y = *(const struct rule *const *)b;

	return strcmp(x->name, y->name);
}

int build_counts_prepare(struct snapshot *s, const struct snapshot *running)
{
	unsigned int n = RTE_MAX(spd_count(running->spd), rule_set_count(running->rules));

	s->control->carry_room = calloc(n + 1, sizeof(void *));
	return s->control->carry_room != NULL ? 0 : -ENOMEM;
}

static void carry_policies(struct snapshot *s, const struct snapshot *old)
{
	unsigned int n = spd_count(old->spd);
	const struct spd_policy **by_name = s->control->carry_room;

	for (unsigned int i = 0; i < n; i++)
		by_name[i] = spd_at(old->spd, i);
	qsort(by_name, n, sizeof(by_name[0]), compare_policies);
	for (unsigned int i = 0; i < spd_count(s->spd); i++) {
		const struct spd_policy *p = spd_at(s->spd, i);
		const struct spd_policy **same =
			bsearch(&p, by_name, n, sizeof(by_name[0]), compare_policies);

		if (same != NULL && policies_equal(p, *same))
			s->policies.decisions->before[i] = decisions_sum(
				old->policies.decisions, spd_number_place((*same)->number));
	}
}

static void carry_rules(struct snapshot *s, const struct snapshot *old)
{
	unsigned int n = rule_set_count(old->rules);
	const struct rule **by_name = s->control->carry_room;

	for (unsigned int i = 0; i < n; i++)
		by_name[i] = rule_set_at(old->rules, i);
	qsort(by_name, n, sizeof(by_name[0]), compare_rules);
	for (unsigned int i = 0; i < rule_set_count(s->rules); i++) {
		const struct rule *rule = rule_set_at(s->rules, i);
		const struct rule **same =
			bsearch(&rule, by_name, n, sizeof(by_name[0]), compare_rules);

		if (same != NULL && rules_equal(rule, *same))
			s->rule_decisions->before[i] = decisions_sum(old->rule_decisions,
				(unsigned int)(*same - rule_set_at(old->rules, 0)));
	}
}

void build_counts_carry(struct snapshot *s, const struct snapshot *old)
{
	carry_policies(s, old);
	carry_rules(s, old);
}
