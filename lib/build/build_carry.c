// SPDX-License-Identifier: BSD-3-Clause
// Which decisions of flows hold in the next configuration (carry_notes.h). The first policy that
// matches decides, likewise the first rule. Policies and rules that are the same in both, in the
// same order, are kept; all others of the next one are noted by their addresses. So a flow that a
// kept one has decided about, and that none of the others matches, finds the same one first.
#include <stdlib.h>
#include <string.h>

#include "bits.h"
#include "build_parts.h"
#include "hop_group.h"

// --- ends ---

static const struct ip_prefix any;

// The longest prefix that covers both.
static struct ip_prefix common(const struct ip_prefix *a, const struct ip_prefix *b)
{
	struct ip_prefix p = {.addr = a->addr, .len = (uint8_t)RTE_MIN(a->len, b->len)};

	while (p.len > 0 && !ip_prefix_contains(&p, &b->addr))
		p.len--;
	return p;
}

static unsigned int ends_len(const struct carry_ends *e)
{
	return e->one.len + e->other.len;
}

// The longer prefix comes first, because most flows are not of it. If there is no more room, the
// pair that is most similar is widened until it covers this one as well.
static void ends_add(struct carry *c, const struct ip_prefix *a, const struct ip_prefix *b)
{
	const struct carry_ends e =
		a->len > b->len ? (struct carry_ends){*a, *b} : (struct carry_ends){*b, *a};
	struct carry_ends best = {0};
	unsigned int at = 0;

	for (unsigned int i = 0; i < c->n_ends; i++) {
		const struct carry_ends *had = &c->ends[i];
		const struct carry_ends both = {
			common(&had->one, &e.one), common(&had->other, &e.other)};

		if (ends_len(&both) == ends_len(had)) // it covers them
			return;
		if (ends_len(&both) >= ends_len(&best)) {
			best = both;
			at = i;
		}
	}
	if (c->n_ends < CARRY_ENDS_MAX)
		c->ends[c->n_ends++] = e;
	else
		c->ends[at] = best;
}

static struct ip_prefix common_of(
	const struct ip_prefix *first, const struct ip_prefix more[], unsigned int n)
{
	struct ip_prefix p = *first;

	for (unsigned int i = 0; i < n; i++)
		p = common(&p, &more[i]);
	return p;
}

// The addresses of a policy or rule.
static void match_add(struct carry *c, const struct ip_prefix *source,
	const struct ip_prefix *destination, const struct classifier_lists *more)
{
	static const struct classifier_lists none;
	const struct classifier_lists *l = more != NULL ? more : &none;
	const struct ip_prefix one = common_of(source, l->source, l->n_source);
	const struct ip_prefix other = common_of(destination, l->destination, l->n_destination);

	ends_add(c, &one, &other);
}

// --- interfaces ---

static bool iface_same(const struct iface *a, const struct iface *b)
{
	return strcmp(a->name, b->name) == 0 && a->port == b->port &&
	       a->unprotected == b->unprotected && a->follows_host == b->follows_host &&
	       (a->host != NULL) == (b->host != NULL) && a->n_addrs == b->n_addrs &&
	       memcmp(a->addrs, b->addrs, a->n_addrs * sizeof(a->addrs[0])) == 0;
}

static bool ifaces_same(const struct snapshot *s, const struct snapshot *running)
{
	bool same = s->n_ports == running->n_ports;

	for (unsigned int i = 0; same && i < s->n_ports; i++)
		same = iface_same(&s->iface[i], &running->iface[i]);
	for (unsigned int i = 0; i < SOURCES; i++)
		same &= nexthop_equal(&s->ike_via[i], &running->ike_via[i]);
	return same;
}

// --- policies ---

static bool sas_same(const struct spd_policy *a, const struct spd_policy *b)
{
	return a->group != 0 || (a->out == b->out && a->n_in == b->n_in &&
					memcmp(a->in, b->in, a->n_in * sizeof(a->in[0])) == 0);
}

// Of two with the same number, so with the same name, action, selectors and interface.
static bool policy_same(const struct snapshot *s, const struct snapshot *running,
	const struct spd_policy *a, const struct spd_policy *b)
{
	return sas_same(a, b) && a->source_check == b->source_check &&
	       (a->iface == 0 || iface_same(&s->iface[a->iface], &running->iface[b->iface]));
}

// Whether a rule about its packets depends on the port of the path to a peer, or where packets of
// an SA arrive: that changes without a change between the ends of the flow. Tunnels that routes
// lead into are interfaces of their own.
static bool depends_on_path(const struct carry *c, const struct spd_policy *p)
{
	return c->rules_name_ports && p->action == SPD_PROTECT && !spd_policy_is_routed(p);
}

static bool is_after_ike(const struct snapshot *s, const struct spd_policy *p)
{
	return spd_place(s->spd, p) >= s->ike_before;
}

// Policies of IKE come before the same ones. Routes choose tunnels, which have no order and no
// addresses. was: the former policies by number, with room for all.
static void policies_compare(
	const struct snapshot *s, const struct snapshot *running, const struct spd_policy *was[])
{
	struct carry *c = s->carry;
	const unsigned int n = spd_count_policies(s->spd);
	const struct spd_policy *last = NULL;

	for (unsigned int i = 0; i < spd_count(running->spd); i++)
		was[spd_at(running->spd, i)->number] = spd_at(running->spd, i);
	for (unsigned int i = 0; i < spd_count(s->spd); i++) {
		const struct spd_policy *p = spd_at(s->spd, i), *old = was[p->number];

		if (old != NULL && old > last && policy_same(s, running, p, old) &&
			(i >= n || is_after_ike(s, p) == is_after_ike(running, old))) {
			if (!depends_on_path(c, p))
				bits_set(c->policies, p->number);
			last = i < n ? old : last;
		} else if (i < n) {
			match_add(c, &p->local, &p->remote, p->more);
		}
	}
	bits_set(c->policies, 0);
}

// --- rules ---

// A rule that distinguishes new connections from others may decide otherwise about a flow by now.
static bool is_of_state(const struct rule *r)
{
	const unsigned int both = 1u << RULE_NEW | 1u << RULE_ESTABLISHED;

	return (r->states & both) != 0 && (r->states & both) != both;
}

// Of two with the same number, so with the same name, action and matches.
static bool rule_same(const struct rule *a, const struct rule *b)
{
	return a->log == b->log && a->n_tunnels == b->n_tunnels && !is_of_state(a) &&
	       (a->n_tunnels == 0 ||
		       memcmp(a->tunnels, b->tunnels, a->n_tunnels * sizeof(a->tunnels[0])) == 0);
}

// Decisions about packets for hosts are not carried.
static void rule_add(struct carry *c, const struct rule *r)
{
	if (r->scope != RULE_HOST)
		match_add(c, &r->match.source, &r->match.destination, r->match.more);
}

// was: as above.
static void rules_compare(struct carry *c, const struct rule_set *rules,
	const struct rule_set *running, const struct rule *was[])
{
	const struct rule *last = NULL;

	for (unsigned int i = 0; i < rule_set_count(running); i++)
		was[rule_set_at(running, i)->number] = rule_set_at(running, i);
	for (unsigned int i = 0; i < rule_set_count(rules); i++) {
		const struct rule *r = rule_set_at(rules, i), *old = was[r->number];

		if (old != NULL && old > last && rule_same(r, old)) {
			bits_set(c->rules, r->number);
			last = old;
		} else {
			rule_add(c, r);
		}
	}
	bits_set(c->rules, 0);
}

// The last rule is the default.
static bool rules_name_ports(const struct rule_set *rules)
{
	for (unsigned int i = 0; i + 1 < rule_set_count(rules); i++) {
		const struct rule *r = rule_set_at(rules, i);

		if (r->scope == RULE_FORWARD &&
			(r->match.in < PORTS_MAX || r->match.out < PORTS_MAX))
			return true;
	}
	return false;
}

static bool compare(struct snapshot *s, const struct snapshot *running)
{
	const struct spd_policy **policies = calloc(1 + SPD_MAX, sizeof(policies[0]));
	const struct rule **rules = calloc(RULE_NUMBERS, sizeof(rules[0]));
	const bool good = policies != NULL && rules != NULL;

	s->carry->rules_name_ports = rules_name_ports(s->rules);
	if (good) {
		policies_compare(s, running, policies);
		rules_compare(s->carry, s->rules, running->rules, rules);
	}
	free(policies);
	free(rules);
	return good;
}

void build_carry(struct snapshot *s, const struct snapshot *running)
{
	if (running == NULL || s->nat != NULL || running->nat != NULL || !ifaces_same(s, running))
		return;
	s->carry = calloc(1, sizeof(*s->carry));
	if (s->carry != NULL && compare(s, running))
		s->carried = running->flow_generation;
}

// --- routes ---

static void route_changed(void *arg, const struct ip_prefix *to)
{
	ends_add(arg, to, &any);
}

void build_carry_routes(struct snapshot *s)
{
	if (s->carried != 0)
		route_plan_each(s->routes, route_changed, s->carry);
}
