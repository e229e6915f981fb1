// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "build_parts.h"

static_assert(CONF_NAME_MAX <= RULE_NAME_MAX, "room for all");
static_assert(1 + 2 * (CONF_RULES_MAX + 1) <= RULE_NUMBERS, "numbers for the next ones as well");
static_assert(CONF_PORT_ANY == CLASSIFIER_ANY, "copied as it is");

static uint8_t states_of(const struct conf_rule *c)
{
	uint8_t set = 0;

	for (unsigned int i = 0; i < c->n_states; i++)
		set |= (uint8_t)(1u << c->states[i]);
	return set;
}

// The number of the interface that a rule names.
static uint32_t iface_of(const struct conf *conf, const struct spd *policies, uint32_t iface)
{
	return iface == CONF_PORT_ANY || iface < CONF_IFACE_TUNNEL
		       ? iface
		       : spd_at(policies, conf->n_policies + iface - CONF_IFACE_TUNNEL)->iface;
}

struct acl_port_range build_range(const struct conf_ranges *c)
{
	return acl_port_range(c->at[0].min, c->at[0].max);
}

const struct classifier_lists *build_lists(struct classifier_lists *to, const struct conf_match *c)
{
	*to = (struct classifier_lists){
		.source = c->source.at + 1,
		.destination = c->destination.at + 1,
		.proto = c->proto.at + 1,
		.source_port = c->source_port.at + 1,
		.destination_port = c->destination_port.at + 1,
		.n_source = c->source.n - 1,
		.n_destination = c->destination.n - 1,
		.n_proto = c->proto.n - 1,
		.n_source_port = c->source_port.n - 1,
		.n_destination_port = c->destination_port.n - 1,
	};
	return to->n_source + to->n_destination + to->n_proto + to->n_source_port +
				       to->n_destination_port >
			       0
		       ? to
		       : NULL;
}

struct classifier_match build_match(const struct conf *conf, const struct conf_match *c,
	const struct spd *policies, struct classifier_lists *lists)
{
	return (struct classifier_match){
		.more = build_lists(lists, c),
		.source = c->source.at[0],
		.destination = c->destination.at[0],
		.family = c->family,
		.proto = c->proto.at[0],
		.source_port = build_range(&c->source_port),
		.destination_port = build_range(&c->destination_port),
		.in = iface_of(conf, policies, c->in),
		.out = iface_of(conf, policies, c->out),
	};
}

bool build_matches_equal(const struct classifier_match *a, const struct classifier_match *b)
{
	return classifier_prefixes_equal(&a->source, &b->source) &&
	       classifier_prefixes_equal(&a->destination, &b->destination) &&
	       a->family == b->family && a->proto == b->proto &&
	       classifier_ports_equal(&a->source_port, &b->source_port) &&
	       classifier_ports_equal(&a->destination_port, &b->destination_port) &&
	       a->in == b->in && a->out == b->out && classifier_lists_equal(a->more, b->more);
}

static struct rule rule_of(const struct conf *conf, const struct conf_rule *c,
	const struct spd *policies, struct classifier_lists *lists)
{
	struct rule r = {
		.action = c->action,
		.scope = c->host ? RULE_HOST : RULE_FORWARD,
		.log = c->log,
		.states = states_of(c),
		.match = build_match(conf, &c->match, policies, lists),
	};

	memcpy(r.name, c->name, sizeof(c->name));
	return r;
}

static int compare_numbers(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

// The numbers of the policies whose packets a rule is about. False: there is no memory.
static bool tunnels_set(struct rule *r, const struct conf_rule *c, const struct spd *policies)
{
	uint32_t *number = calloc(c->n_tunnels + 1, sizeof(*number));

	r->tunnels = number;
	r->n_tunnels = c->n_tunnels;
	for (unsigned int i = 0; number != NULL && i < c->n_tunnels; i++)
		number[i] = spd_at(policies, c->tunnels[i])->number;
	if (number != NULL)
		qsort(number, c->n_tunnels, sizeof(*number), compare_numbers);
	return number != NULL;
}

// Tunnels are numbers of policies, which may be others.
static bool equal(const void *x, const void *y)
{
	const struct rule *a = x, *b = y;

	return a->action == b->action && a->scope == b->scope && a->states == b->states &&
	       build_matches_equal(&a->match, &b->match);
}

static const struct build_kind kind = {
	.size = sizeof(struct rule),
	.name = offsetof(struct rule, name),
	.number = offsetof(struct rule, number),
	.first = 1,
	.numbers = RULE_NUMBERS,
	.equal = equal,
};

struct rule_set *build_rules(
	const struct conf *conf, const struct spd *policies, const struct rule_set *running)
{
	unsigned int n = conf->n_rules, n_running = running != NULL ? rule_set_count(running) : 0;
	struct rule *rules = calloc(n + 1, sizeof(*rules));
	struct classifier_lists *lists = calloc(n + 1, sizeof(*lists));
	struct rule_set *s = NULL;
	bool good = rules != NULL && lists != NULL;

	for (unsigned int i = 0; good && i < n; i++) {
		rules[i] = rule_of(conf, &conf->rules[i], policies, &lists[i]);
		good = tunnels_set(&rules[i], &conf->rules[i], policies);
	}
	if (good)
		rules[n] = (struct rule){.name = BUILD_RULE_DEFAULT,
			.action = conf->default_action,
			.log = conf->default_log};
	if (good &&
		build_numbers(&kind, rules, n + 1, n_running > 0 ? rule_set_at(running, 0) : NULL,
			n_running, &(uint16_t){0}) == 0)
		s = rule_set_new(rules, n, &rules[n]);
	else
		errno = ENOMEM;
	for (unsigned int i = 0; rules != NULL && i < n; i++)
		free((void *)(uintptr_t)rules[i].tunnels);
	free(rules);
	free(lists);
	return s;
}
