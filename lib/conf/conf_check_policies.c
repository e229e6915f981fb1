// SPDX-License-Identifier: BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "conf_check.h"
#include "conf_schema.h"

static int compare_names(const struct conf *c, unsigned int a, unsigned int b)
{
	return strcmp(c->policies[a].name, c->policies[b].name);
}

static int compare_sa_names(const struct conf *c, unsigned int a, unsigned int b)
{
	return strcmp(c->sas[a].name, c->sas[b].name);
}

struct key {
	const struct conf *c;
	const char *name;
};

static int compare_key(const void *key, const void *element)
{
	const struct key *k = key;

	return strcmp(k->name, k->c->sas[*(const unsigned int *)element].name);
}

static const char *const direction_names[] = {[CONF_IN] = "in", [CONF_OUT] = "out"};

static void refuse_missing_sa(
	struct conf_reader *r, config_setting_t *s, const struct conf_set *sas, const char *name)
{
	struct conf_nearest near = {.text = name};

	for (unsigned int i = 0; i < sas->n; i++)
		conf_nearest_try(&near, r->c->sas[sas->index[i]].name);
	// The SA may be the one whose name was refused.
	if (near.best != NULL)
		conf_err(r, s, "there is no sa %s, did you mean \"%s\"?", conf_quote(r, name),
			near.best);
	else if (sas->n == r->c->n_sas && !conf_refused(r->root, "sas"))
		conf_err(r, s, "there is no sa %s, must be the name of one", conf_quote(r, name));
}

// Finds the SA that a policy names for a direction.
static bool find_sa(struct conf_reader *r, config_setting_t *policy, const struct conf_set *sas,
	enum conf_direction direction, unsigned int *found)
{
	const char *setting = direction_names[direction];
	config_setting_t *s = config_setting_get_member(policy, setting);

	if (s == NULL)
		conf_err(r, policy, "%s is missing, protect needs an SA for each direction",
			setting);
	if (s == NULL || s->hook != NULL)
		return false;

	struct key key = {r->c, config_setting_get_string(s)};
	const unsigned int *i =
		bsearch(&key, sas->index, sas->n, sizeof(sas->index[0]), compare_key);

	if (i == NULL) {
		refuse_missing_sa(r, s, sas, key.name);
		return false;
	}

	config_setting_t *sa = conf_item(r, "sas", *i);

	if (conf_given(sa, "direction") == NULL)
		return false;
	if (r->c->sas[*i].direction != direction) {
		conf_err(r, s, "%s has direction \"%s\", must be \"%s\"", conf_ref(r, sa),
			direction_names[r->c->sas[*i].direction], setting);
		return false;
	}
	*found = *i;
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

static void check_sas(struct conf_reader *r, config_setting_t *policy, const struct conf_set *sas,
	struct conf_policy *p)
{
	if (p->action == CONF_PROTECT) {
		bool out = find_sa(r, policy, sas, CONF_OUT, &p->sa_out);
		bool in = find_sa(r, policy, sas, CONF_IN, &p->sa_in);

		if (out && in)
			check_tunnel(r, policy, p);
		return;
	}
	for (unsigned int i = 0; i < RTE_DIM(direction_names); i++) {
		config_setting_t *s = config_setting_get_member(policy, direction_names[i]);

		if (s != NULL)
			conf_err(r, s, "is for action \"protect\" only");
	}
}

static void check_ports(
	struct conf_reader *r, config_setting_t *policy, const struct conf_policy *p)
{
	static const char *const names[] = {"local_port", "remote_port"};

	if (conf_refused(policy, "proto") || conf_proto_has_ports(p->proto))
		return;
	for (unsigned int i = 0; i < RTE_DIM(names); i++) {
		config_setting_t *s = conf_given(policy, names[i]);

		if (s != NULL)
			conf_err(r, s,
				"needs a proto with ports, must be tcp, udp, dccp, sctp or "
				"udplite");
	}
}

// What was not given matches everything of the other's family.
static void complete_prefixes(config_setting_t *policy, struct conf_policy *p)
{
	const struct ip_prefix all_v4 = {ip_addr_from_v4(0), IP_V4_BITS};
	bool local = config_setting_get_member(policy, "local") != NULL;
	bool remote = config_setting_get_member(policy, "remote") != NULL;

	p->any_family = !local && !remote;
	if (local && !remote)
		p->remote = all_v4;
	if (remote && !local)
		p->local = all_v4;
}

static bool prefix_covers(const struct ip_prefix *a, const struct ip_prefix *b)
{
	return a->len <= b->len && ip_prefix_contains(a, &b->addr);
}

// Whether a matches every packet that b matches.
static bool covers(const struct conf_policy *a, const struct conf_policy *b)
{
	return (a->proto == CONF_PROTO_ANY || a->proto == b->proto) &&
	       a->local_port_min <= b->local_port_min && a->local_port_max >= b->local_port_max &&
	       a->remote_port_min <= b->remote_port_min &&
	       a->remote_port_max >= b->remote_port_max && prefix_covers(&a->local, &b->local) &&
	       prefix_covers(&a->remote, &b->remote);
}

static bool selectors_accepted(const config_setting_t *policy)
{
	static const char *const names[] = {
		"local", "remote", "proto", "local_port", "remote_port"};

	for (unsigned int i = 0; i < RTE_DIM(names); i++)
		if (conf_refused(policy, names[i]))
			return false;
	return true;
}

static void check_order(struct conf_reader *r)
{
	const struct conf *c = r->c;
	struct conf_set ok = {.index = conf_alloc(r, c->n_policies, sizeof(ok.index[0]))};

	for (unsigned int i = 0; i < c->n_policies; i++) {
		config_setting_t *item = conf_item(r, "policies", i);
		unsigned int k = 0;

		if (!selectors_accepted(item))
			continue;
		while (k < ok.n && !covers(&c->policies[ok.index[k]], &c->policies[i]))
			k++;
		if (k < ok.n)
			conf_err(r, item, "never matches, %s comes first and matches all of it",
				conf_ref(r, conf_item(r, "policies", ok.index[k])));
		ok.index[ok.n++] = i;
	}
}

void conf_check_policies(struct conf_reader *r)
{
	struct conf *c = r->c;
	struct conf_set names =
		conf_set_given(r, "policies", c->n_policies, (const char *[]){"name", NULL});
	struct conf_set sas = conf_set_given(r, "sas", c->n_sas, (const char *[]){"name", NULL});

	conf_set_sort(r, &sas, compare_sa_names);
	for (unsigned int i = 0; i < c->n_policies; i++) {
		config_setting_t *item = conf_item(r, "policies", i);

		if (conf_given(item, "action") != NULL)
			check_sas(r, item, &sas, &c->policies[i]);
		check_ports(r, item, &c->policies[i]);
		complete_prefixes(item, &c->policies[i]);
	}
	conf_refuse_equal(r, "policies", &names, compare_names, "name", "is already the name of");
	check_order(r);
}
