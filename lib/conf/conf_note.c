// SPDX-License-Identifier: BSD-3-Clause
// Notes about a valid configuration. Here those about rules: rules that need a policy which only an
// IKE daemon can add, and those that most likely should have host = true.
#include "conf_check.h"

static bool is_any_or_equal(unsigned int a, unsigned int b, unsigned int any)
{
	return a == any || b == any || a == b;
}

// Whether a policy lets packets in that a rule matches: the remote end sends them.
static bool lets_in(const struct conf_policy *p, const struct conf_rule *rule)
{
	return p->action != SPD_DISCARD && is_any_or_equal(p->family, rule->family, IP_ANY) &&
	       is_any_or_equal(p->proto, rule->proto, PROTO_ANY) &&
	       ip_prefix_overlaps(&p->remote, &rule->source) &&
	       ip_prefix_overlaps(&p->local, &rule->destination) &&
	       p->remote_port_min <= rule->source_port_max &&
	       p->remote_port_max >= rule->source_port_min &&
	       p->local_port_min <= rule->destination_port_max &&
	       p->local_port_max >= rule->destination_port_min;
}

static bool accepts_new(const struct conf_rule *rule)
{
	bool has_new = false;

	for (unsigned int i = 0; i < rule->n_states; i++)
		has_new |= rule->states[i] == RULE_NEW;
	return has_new && rule->action == RULE_ACCEPT;
}

// Of a rule with a tunnel there is a policy.
static bool needs_policy(const struct conf *c, const struct conf_rule *rule)
{
	if (rule->in == CONF_PORT_ANY || !c->ports[rule->in].unprotected ||
		rule->tunnel[0] != '\0' || !accepts_new(rule))
		return false;
	for (unsigned int i = 0; i < c->n_policies; i++)
		if (lets_in(&c->policies[i], rule))
			return false;
	return true;
}

// The port that a rule for packets that are forwarded names by an own address; NULL: it does not.
static const struct conf_port *own_port(const struct conf *c, const struct conf_rule *rule)
{
	const struct ip_prefix *to = &rule->destination;

	if (rule->host || to->len != 128)
		return NULL;
	for (unsigned int i = 0; i < c->n_ports; i++)
		for (unsigned int a = 0; a < c->ports[i].n_addrs; a++)
			if (ip_addr_equal(&c->ports[i].addrs[a].addr, &to->addr))
				return &c->ports[i];
	return NULL;
}

static void notes_rules(const struct conf *c, FILE *out)
{
	for (unsigned int i = 0; i < c->n_rules; i++) {
		const struct conf_rule *rule = &c->rules[i];
		const struct conf_port *own = own_port(c, rule);

		if (own != NULL)
			fprintf(out,
				"note: %s:%u: rule \"%s\": destination is an own address of port "
				"\"%s\": packets to it are not forwarded; host = true is "
				"missing?\n",
				rule->where.file, rule->where.line, rule->name, own->name);
		else if (needs_policy(c, rule))
			fprintf(out,
				"note: %s:%u: rule \"%s\": accepts nothing unless an IKE daemon "
				"adds a policy: port \"%s\" faces the unprotected side, where "
				"packets in clear need a policy with action \"bypass\"\n",
				rule->where.file, rule->where.line, rule->name,
				c->ports[rule->in].name);
	}
}

void conf_notes_print(const struct conf *c, FILE *out)
{
	conf_notes_policies(c, out);
	notes_rules(c, out);
}
