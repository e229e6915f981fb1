// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "build_parts.h"

static_assert(CONF_NAME_MAX <= NAT_NAME_MAX, "room for all");
static_assert(1 + 2 * CONF_NAT_MAX <= NAT_NUMBERS, "numbers for the next ones as well");

#define LIMIT_MIN 64 // unless a rule has its own

// Ports that each source, or peer, may have: as configured, or by default some quarters of all.
static uint32_t limit_of(const struct nat_rule *r, unsigned int configured, uint32_t quarters)
{
	return configured != 0 ? configured
			       : RTE_MAX(nat_rule_ports(r) * quarters / 4, (uint32_t)LIMIT_MIN);
}

static struct nat_rule rule_of(const struct conf *conf, const struct conf_nat *c,
	const struct spd *policies, struct classifier_lists *lists)
{
	struct nat_rule r = {
		.action = c->action,
		.end = c->end,
		.match = build_match(conf, &c->match, policies, lists),
		.first = c->to.first,
		.last = c->to.last,
		.len = c->to.len,
		.port = c->to.port,
		.log = c->log,
		.random = c->random,
		.port_min = c->to_port.min,
		.port_max = c->to_port.max,
	};

	memcpy(r.name, c->name, sizeof(c->name));
	r.per_source = limit_of(&r, c->per_source, 1);
	r.per_peer = limit_of(&r, c->per_peer, 3);
	return r;
}

static bool equal(const void *x, const void *y)
{
	const struct nat_rule *a = x, *b = y;

	return a->action == b->action && a->end == b->end && a->len == b->len &&
	       a->port == b->port && a->log == b->log && a->port_min == b->port_min &&
	       a->port_max == b->port_max && ip_addr_equal(&a->first, &b->first) &&
	       ip_addr_equal(&a->last, &b->last) && build_matches_equal(&a->match, &b->match);
}

static const struct build_kind kind = {
	.size = sizeof(struct nat_rule),
	.name = offsetof(struct nat_rule, name),
	.number = offsetof(struct nat_rule, number),
	.first = 1,
	.numbers = NAT_NUMBERS,
	.equal = equal,
};

struct nat_set *build_nat(
	const struct conf *conf, const struct spd *policies, const struct nat_set *running)
{
	static uint16_t last; // numbers go round: flows keep those of rules that are gone
	const unsigned int n = conf->n_nat, n_running = nat_set_count(running);
	struct nat_rule *rules = calloc(n + 1, sizeof(*rules));
	struct classifier_lists *lists = calloc(n + 1, sizeof(*lists));
	const bool good = rules != NULL && lists != NULL;
	struct nat_set *s = NULL;

	for (unsigned int i = 0; good && i < n; i++)
		rules[i] = rule_of(conf, &conf->nat[i], policies, &lists[i]);
	if (good && build_numbers(&kind, rules, n, n_running > 0 ? nat_set_at(running, 0) : NULL,
			    n_running, &last) == 0)
		s = nat_set_new(rules, n);
	else
		errno = ENOMEM;
	free(rules);
	free(lists);
	return s;
}
