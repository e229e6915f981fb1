// SPDX-License-Identifier: BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "conf_check.h"
#include "conf_schema.h"

static int compare_names(const struct conf *c, unsigned int a, unsigned int b)
{
	return strcmp(c->policies[a].name, c->policies[b].name);
}

static const char *const direction_names[] = {[CONF_IN] = "in", [CONF_OUT] = "out"};

// Finds the SA that a policy names for a direction.
static bool find_sa(struct conf_reader *r, config_setting_t *policy, const struct conf_names *sas,
	enum conf_direction direction, unsigned int *found)
{
	const char *setting = direction_names[direction];
	config_setting_t *s = config_setting_get_member(policy, setting);

	if (s == NULL)
		conf_err(r, policy, "%s is missing, protect needs an SA for each direction",
			setting);
	if (s == NULL || s->hook != NULL)
		return false;

	const char *name = config_setting_get_string(s);
	int i = conf_names_find(sas, name);

	if (i < 0) {
		conf_names_refuse(r, s, (const struct conf_names *[]){sas, NULL}, name);
		return false;
	}

	config_setting_t *sa = conf_item(r, "sas", (unsigned int)i);

	if (conf_given(sa, "direction") == NULL)
		return false;
	if (r->c->sas[i].direction != direction) {
		conf_err(r, s, "%s has direction \"%s\", must be \"%s\"", conf_ref(r, sa),
			direction_names[r->c->sas[i].direction], setting);
		return false;
	}
	*found = (unsigned int)i;
	return true;
}

// A policy has one pair of tunnel ends (RFC 4301 4.4.1.2).
static void check_tunnel(
	struct conf_reader *r, config_setting_t *policy, const struct conf_policy *p)
{
	const struct conf_sa *out = &r->c->sas[p->sa_out], *in = &r->c->sas[p->sa_in];
	config_setting_t *out_item = conf_item(r, "sas", p->sa_out);
	config_setting_t *in_item = conf_item(r, "sas", p->sa_in);
	static const char *const ends[] = {"local", "remote"};
	const struct ip_addr *const outs[] = {&out->local, &out->remote};
	const struct ip_addr *const ins[] = {&in->local, &in->remote};
	char a[IP_ADDR_STRLEN], b[IP_ADDR_STRLEN];

	for (unsigned int i = 0; i < RTE_DIM(ends); i++)
		if (conf_given(out_item, ends[i]) != NULL && conf_given(in_item, ends[i]) != NULL &&
			!ip_addr_equal(outs[i], ins[i]))
			conf_err(r, policy,
				"sa \"%s\" has %s %s, sa \"%s\" has %s, must be the same",
				out->name, ends[i], ip_addr_format(a, outs[i]), in->name,
				ip_addr_format(b, ins[i]));
}

static void check_sas(struct conf_reader *r, config_setting_t *policy, const struct conf_names *sas,
	struct conf_policy *p)
{
	static const char *const of_tunnels[] = {"in", "out", "icmp_errors"};

	if (p->action == CONF_PROTECT) {
		bool out = find_sa(r, policy, sas, CONF_OUT, &p->sa_out);
		bool in = find_sa(r, policy, sas, CONF_IN, &p->sa_in);

		if (out && in)
			check_tunnel(r, policy, p);
		return;
	}
	for (unsigned int i = 0; i < RTE_DIM(of_tunnels); i++) {
		config_setting_t *s = config_setting_get_member(policy, of_tunnels[i]);

		if (s != NULL)
			conf_err(r, s, "is for action \"protect\" only");
	}
}

void conf_check_policies(struct conf_reader *r)
{
	static const char *const ports[] = {"local_port", "remote_port", NULL};
	static const char *const selectors[] = {
		"local", "remote", "proto", "local_port", "remote_port", NULL};
	struct conf *c = r->c;
	struct conf_set names =
		conf_set_given(r, "policies", c->n_policies, (const char *[]){"name", NULL});
	struct conf_names sas = conf_names_sort(r, "sas");
	struct conf_set selectors_ok;

	for (unsigned int i = 0; i < c->n_policies; i++) {
		config_setting_t *item = conf_item(r, "policies", i);
		struct conf_policy *p = &c->policies[i];

		if (conf_given(item, "action") != NULL)
			check_sas(r, item, &sas, p);
		conf_check_proto_ports(r, item, p->proto, ports);
		p->family = conf_check_prefixes(r, item, "local", &p->local, "remote", &p->remote);
	}
	conf_refuse_equal(r, "policies", &names, compare_names, "name", "is already the name of");
	selectors_ok = conf_set_accepted(r, "policies", c->n_policies, selectors);
	conf_check_covered_policies(r, &selectors_ok);
}
