// SPDX-License-Identifier: BSD-3-Clause
#include <string.h>

#include "conf_check.h"
#include "conf_schema.h"

static void reject_host_egress(
	struct conf_reader *r, config_setting_t *item, const struct conf_rule *rule)
{
	if (rule->host)
		conf_refuse_given(r, item, "out",
			"packets for the host have no egress port: leave out, or host");
}

static bool may_have_host(const struct conf_reader *r)
{
	for (unsigned int i = 0; i < r->c->n_ports; i++)
		if (conf_member(conf_item(r, CONF_PORT, i), "host") != NULL)
			return true;
	for (unsigned int i = 0; i < r->c->n_tunnels; i++)
		if (conf_member(conf_item(r, CONF_TUNNEL, i), "host") != NULL)
			return true;
	return conf_given(r->root, "ports") == NULL;
}

static void reject_without_host(
	struct conf_reader *r, config_setting_t *item, const struct conf_rule *rule)
{
	if (rule->host && !may_have_host(r))
		conf_err(r, conf_member(item, "host"),
			"no port or tunnel has a host, needs one such as host = \"gw-lan\" of a "
			"port");
}

static void add_tunnel(struct conf_rule *rule, unsigned int number)
{
	rule->tunnels = conf_alloc(1, sizeof(rule->tunnels[0]));
	rule->tunnels[rule->n_tunnels++] = number;
}

static void find_tunnel_of_policy(
	struct conf_reader *r, config_setting_t *s, struct conf_rule *rule, unsigned int policy)
{
	config_setting_t *item = conf_item(r, CONF_POLICY, policy);

	if (conf_given(item, "action") == NULL)
		return;
	if (r->c->policies[policy].action != SPD_PROTECT) {
		conf_err(r, s, "%s has no tunnel, must have action \"protect\"", conf_ref(item));
		return;
	}
	add_tunnel(rule, policy);
}

static bool has_sa(const struct conf_policy *p, unsigned int sa)
{
	bool has = p->sa_out == sa;

	for (unsigned int i = 0; i < p->n_sa_in; i++)
		has |= p->sa_in[i] == sa;
	return has;
}

// An SA stands for all policies that send or receive through it.
static void find_tunnels_of_sa(
	struct conf_reader *r, config_setting_t *s, struct conf_rule *rule, unsigned int sa)
{
	const struct conf *c = r->c;
	bool known = !conf_rejected(r->root, "policies");

	rule->tunnels = conf_alloc(c->n_policies, sizeof(rule->tunnels[0]));
	for (unsigned int i = 0; i < c->n_policies; i++) {
		const config_setting_t *item = conf_item(r, CONF_POLICY, i);
		const struct conf_policy *p = &c->policies[i];

		if (conf_given(item, "action") == NULL)
			known = false;
		else if (p->action != SPD_PROTECT)
			continue;
		else if (conf_given(item, "out") == NULL || conf_given(item, "in") == NULL)
			known = false;
		else if (has_sa(p, sa))
			rule->tunnels[rule->n_tunnels++] = i;
	}
	if (known && rule->n_tunnels == 0)
		conf_err(r, s, "no policy uses %s", conf_ref(conf_item(r, CONF_SA, sa)));
}

static void find_tunnels(struct conf_reader *r, config_setting_t *item, struct conf_rule *rule,
	const struct conf_names *policies, const struct conf_names *sas,
	const struct conf_names *tunnels)
{
	config_setting_t *s = conf_given(item, "tunnel");

	if (s == NULL)
		return;

	int policy = conf_names_find(policies, rule->tunnel);
	int sa = conf_names_find(sas, rule->tunnel);
	int tunnel = conf_names_find(tunnels, rule->tunnel);

	if ((policy >= 0 || tunnel >= 0) && sa >= 0)
		conf_err(r, s, "is the name of %s and of %s, must be that of one",
			conf_ref(policy >= 0 ? conf_item(r, CONF_POLICY, (unsigned int)policy)
					     : conf_item(r, CONF_TUNNEL, (unsigned int)tunnel)),
			conf_ref(conf_item(r, CONF_SA, (unsigned int)sa)));
	else if (policy >= 0)
		find_tunnel_of_policy(r, s, rule, (unsigned int)policy);
	else if (tunnel >= 0)
		add_tunnel(rule, r->c->n_policies + (unsigned int)tunnel);
	else if (sa >= 0)
		find_tunnels_of_sa(r, s, rule, (unsigned int)sa);
	else
		conf_names_reject(r, s, (const struct conf_names *[]){policies, tunnels, sas, NULL},
			rule->tunnel);
}

// A rule that drops should drop everything; one that accepts should not accept packets of no
// connection.
static void complete_states(struct conf_rule *rule)
{
	if (rule->n_states > 0)
		return;
	for (unsigned int i = 0; i < RULE_STATES; i++)
		if (i != RULE_INVALID || rule->action != RULE_ACCEPT)
			rule->states[rule->n_states++] = i;
}

static unsigned int state_set(const struct conf_rule *rule)
{
	unsigned int set = 0;

	for (unsigned int i = 0; i < rule->n_states; i++)
		set |= 1u << rule->states[i];
	return set;
}

static bool tunnels_cover(const struct conf_rule *a, const struct conf_rule *b)
{
	unsigned int k = 0;

	if (a->tunnel[0] == '\0')
		return true;
	for (unsigned int i = 0; i < b->n_tunnels; i++) {
		while (k < a->n_tunnels && a->tunnels[k] < b->tunnels[i])
			k++;
		if (k == a->n_tunnels || a->tunnels[k] != b->tunnels[i])
			return false;
	}
	return b->n_tunnels > 0;
}

// Whether a matches every packet that b matches.
static bool rule_covers(const struct conf *c, unsigned int a, unsigned int b)
{
	const struct conf_rule *x = &c->rules[a], *y = &c->rules[b];

	return x->host == y->host && conf_match_covers(&x->match, &y->match) &&
	       (state_set(y) & ~state_set(x)) == 0 && tunnels_cover(x, y);
}

static struct conf_match match_at(const struct conf *c, unsigned int i)
{
	return c->rules[i].match;
}

// Reports each rule of a set that never matches, because one before it matches all that it does.
static void check_order(struct conf_reader *r, const struct conf_set *set)
{
	for (unsigned int i = 0; i < set->n; i++) {
		unsigned int k = 0;

		while (k < i && !rule_covers(r->c, set->index[k], set->index[i]))
			k++;
		if (k < i)
			conf_err(r, conf_item(r, CONF_RULE, set->index[i]),
				"never matches, %s comes first and matches all of it",
				conf_ref(conf_item(r, CONF_RULE, set->index[k])));
	}
}

void conf_check_rules(struct conf_reader *r)
{
	static const char *const selectors[] = {"action", "host", "source", "destination", "proto",
		"source_port", "destination_port", "icmp", "in", "out", "tunnel", "state", NULL};
	struct conf *c = r->c;
	struct conf_names port_names = conf_names_sort(r, CONF_PORT);
	struct conf_names tunnel_names = conf_names_sort(r, CONF_TUNNEL);
	struct conf_names policy_names = conf_names_sort(r, CONF_POLICY);
	struct conf_names sa_names = conf_names_sort(r, CONF_SA);
	struct conf_set selectors_ok;

	for (unsigned int i = 0; i < c->n_rules; i++) {
		config_setting_t *item = conf_item(r, CONF_RULE, i);
		struct conf_rule *rule = &c->rules[i];

		conf_check_match(r, CONF_RULE, item, &rule->match, &port_names, &tunnel_names);
		reject_host_egress(r, item, rule);
		reject_without_host(r, item, rule);
		find_tunnels(r, item, rule, &policy_names, &sa_names, &tunnel_names);
		complete_states(rule);
	}
	conf_check_names(r, CONF_RULE);
	selectors_ok = conf_set_accepted(r, CONF_RULE, selectors);
	if (conf_check_combinations(r, CONF_RULE, match_at))
		check_order(r, &selectors_ok);
}
