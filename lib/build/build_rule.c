// SPDX-License-Identifier: BSD-3-Clause
#include "build_rule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static_assert(CONF_NAME_MAX <= RULE_NAME_MAX, "room for all");
static_assert(CONF_PORT_ANY == CLASSIFIER_ANY, "copied as it is");

static uint8_t states_of(const struct conf_rule *c)
{
	uint8_t set = 0;

	for (unsigned int i = 0; i < c->n_states; i++)
		set |= (uint8_t)(1u << c->states[i]);
	return set;
}

static struct rule rule_of(const struct conf_rule *c)
{
	struct rule r = {
		.action = c->action,
		.scope = c->host ? RULE_HOST : RULE_FORWARD,
		.log = c->log,
		.states = states_of(c),
		.source = c->source,
		.destination = c->destination,
		.family = c->family,
		.proto = c->proto,
		.source_port = acl_port_range(c->source_port_min, c->source_port_max),
		.destination_port =
			acl_port_range(c->destination_port_min, c->destination_port_max),
		.in = c->in,
		.out = c->out,
		.tunnels = c->tunnels,
		.n_tunnels = c->n_tunnels,
	};

	memcpy(r.name, c->name, sizeof(c->name));
	return r;
}

struct rule_set *build_rules(const struct conf *conf)
{
	struct rule fallback = {.name = BUILD_RULE_DEFAULT,
		.action = conf->default_action,
		.log = conf->default_log};
	struct rule *rules = calloc(conf->n_rules + 1, sizeof(*rules));

	if (rules == NULL)
		return NULL;
	for (unsigned int i = 0; i < conf->n_rules; i++)
		rules[i] = rule_of(&conf->rules[i]);

	struct rule_set *s = rule_set_new(rules, conf->n_rules, &fallback);

	free(rules);
	return s;
}
