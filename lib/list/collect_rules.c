// SPDX-License-Identifier: BSD-3-Clause
// Rules of the firewall and of network address translation.
#include <inttypes.h>
#include <stdio.h>

#include "collect.h"
#include "control.h"
#include "decisions.h"
#include "flow_share.h"

static const char *rule_port(const struct snapshot *s, uint32_t port)
{
	return port == CLASSIFIER_ANY ? "any" : s->iface[port].name;
}

// The fallback matches whatever the rules do not.
static const struct end_view any_end = {
	.family = IP_ANY, .proto = PROTO_ANY, .ports = {0, ACL_PORT_OPAQUE}};

static struct end_view source_of(const struct classifier_match *m, const struct conf_match *conf)
{
	return (struct end_view){m->source, m->family, m->proto, m->source_port, conf->source.text,
		conf->proto.text, conf->source_port.text, &conf->source};
}

static struct end_view destination_of(
	const struct classifier_match *m, const struct conf_match *conf)
{
	return (struct end_view){m->destination, m->family, m->proto, m->destination_port,
		conf->destination.text, conf->proto.text, conf->destination_port.text,
		&conf->destination};
}

bool collect_rules(void *view, const struct control *c, unsigned int i)
{
	const struct snapshot *s = c->snapshot;
	struct rules_view *v = view;

	if (i >= rule_set_count(s->rules))
		return false;

	const struct rule *r = rule_set_at(s->rules, i);
	const struct classifier_match *m = &r->match;
	bool last = i + 1 == rule_set_count(s->rules);
	unsigned int states = last ? UINT_MAX : r->states;

	*v = (struct rules_view){
		.action = rule_action_names[r->action],
		.host = r->scope == RULE_HOST,
		.log = r->log,
		.in = rule_port(s, last ? CLASSIFIER_ANY : r->match.in),
		.out = rule_port(s, last ? CLASSIFIER_ANY : r->match.out),
		.tunnel = last ? "" : c->conf->rules[i].tunnel,
		.source = last ? any_end : source_of(m, &c->conf->rules[i].match),
		.destination = last ? any_end : destination_of(m, &c->conf->rules[i].match),
		.did = decisions_sum(s->objects->decisions[DECIDER_RULE], r->number),
	};
	snprintf(v->name, sizeof(v->name), "%s", r->name);
	for (unsigned int k = 0; k < RULE_STATES; k++)
		if ((states & 1u << k) != 0) {
			strcat(v->states, v->states[0] != '\0' ? "," : "");
			strcat(v->states, rule_state_names[k]);
		}
	return true;
}

static void nat_to(struct nat_view *v, const struct nat_rule *r)
{
	const struct ip_prefix prefix = {r->first, r->len};
	char first[IP_ADDR_STRLEN], last[IP_ADDR_STRLEN];

	if (r->port)
		strcpy(v->to, "port");
	else if (r->action != NAT_ACCEPT && r->len == 0)
		snprintf(v->to, sizeof(v->to), "%s-%s", ip_addr_format(first, &r->first),
			ip_addr_format(last, &r->last));
	else if (r->action != NAT_ACCEPT)
		ip_prefix_format(v->to, &prefix);
	if (r->port_max > r->port_min)
		snprintf(v->to_port, sizeof(v->to_port), "%u-%u", r->port_min, r->port_max);
	else if (r->port_min != 0)
		snprintf(v->to_port, sizeof(v->to_port), "%u", r->port_min);
}

void nat_rules_write(char text[NAT_RULES_STRLEN], const struct nat_rule *const rule[NAT_ENDS])
{
	const bool both = rule[NAT_TO] != NULL && rule[NAT_FROM] != NULL;

	snprintf(text, NAT_RULES_STRLEN, "%s%s%s", rule[NAT_TO] != NULL ? rule[NAT_TO]->name : "",
		both ? "," : "", rule[NAT_FROM] != NULL ? rule[NAT_FROM]->name : "");
}

bool collect_nat(void *view, const struct control *c, unsigned int i)
{
	const struct snapshot *s = c->snapshot;
	struct nat_view *v = view;

	if (i >= nat_set_count(s->nat))
		return false;

	const struct nat_rule *r = nat_set_at(s->nat, i);
	const struct classifier_match *m = &r->match;

	*v = (struct nat_view){
		.action = nat_action_names[r->action],
		.in = rule_port(s, m->in),
		.out = rule_port(s, m->out),
		.source = source_of(m, &c->conf->nat[i].match),
		.destination = destination_of(m, &c->conf->nat[i].match),
		.did = decisions_sum(s->objects->decisions[DECIDER_NAT], r->number),
	};
	snprintf(v->name, sizeof(v->name), "%s", r->name);
	nat_to(v, r);
	return true;
}

bool collect_nat_addresses(void *view, const struct control *c, unsigned int i)
{
	const struct flow_share *s = flow_share_at(c->flows, i);
	struct nat_addresses_view *v = view;

	if (s == NULL)
		return false;

	const struct nat_rule *rule = nat_set_numbered(c->snapshot->nat, s->rule);

	*v = (struct nat_addresses_view){
		.addr = s->addr,
		.proto = s->proto,
		.bindings = s->bindings,
		.ports = s->ports,
		.to = s->to,
		.to_port = rte_be_to_cpu_16(s->to_port),
		.to_ports = s->to_ports,
		.ports_max = rule != NULL ? nat_rule_ports(rule) : 0,
		.client = s->client,
		.client_bindings = s->client_bindings,
	};
	snprintf(v->nat, sizeof(v->nat), "%s", rule != NULL ? rule->name : "");
	return true;
}
