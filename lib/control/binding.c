// SPDX-License-Identifier: BSD-3-Clause
#include "binding.h"

#include <netinet/in.h>
#include <string.h>

#include "icmp.h"
#include "translate_port.h"

bool binding_name(struct flow_line *f, const struct nat_set *nat)
{
	for (enum nat_end end = 0; end < NAT_ENDS; end++) {
		const uint16_t number = f->copy.rule[end];
		const struct nat_rule *rule = nat != NULL ? nat_set_numbered(nat, number) : NULL;

		if (number != 0 && rule == NULL)
			return false;
		strcpy(f->rule[end], number != 0 ? rule->name : "");
	}
	return true;
}

static bool port_is_in(const struct acl_port_range *r, rte_be16_t port, bool has_ports)
{
	return r->max == ACL_PORT_OPAQUE || !has_ports ||
	       acl_port_matches(r, rte_cpu_to_be_32(rte_be_to_cpu_16(port)));
}

static bool has_ports(const struct flow_copy *c)
{
	return c->proto == IPPROTO_TCP || c->proto == IPPROTO_UDP;
}

// Whether packets with these ends may be those of the rule.
static bool matches(
	const struct classifier_match *m, const struct flow_copy *c, const struct ip_ends *ends)
{
	return classifier_has_family(
		       m->family, &m->source, &m->destination, ip_addr_family(&ends->src)) &&
	       ip_prefix_contains(&m->source, &ends->src) &&
	       ip_prefix_contains(&m->destination, &ends->dst) &&
	       (m->proto == PROTO_ANY || m->proto == c->proto) &&
	       port_is_in(&m->source_port, ends->src_port, has_ports(c)) &&
	       port_is_in(&m->destination_port, ends->dst_port, has_ports(c));
}

static bool is_about(
	const struct nat_rule *r, const struct flow_copy *c, const struct ip_ends *ends)
{
	struct classifier_match one;
	unsigned int i = 0;
	bool about = false;

	while (!about && classifier_next(&one, &r->match, &i))
		about = matches(&one, c, ends);
	return about;
}

// The rule for an end. False: there is none of the name that is about these packets. *rule is NULL
// without a name.
static bool find(const struct nat_rule **rule, const struct flow_line *f, const struct nat_set *nat,
	enum nat_end end, const struct ip_ends *ends)
{
	const char *name = f->rule[end];
	const struct nat_rule *r = NULL;

	*rule = NULL;
	if (name[0] == '\0')
		return true;
	for (unsigned int i = 0; i < nat_set_count(nat); i++)
		if (strcmp(nat_set_at(nat, i)->name, name) == 0)
			r = nat_set_at(nat, i);
	if (r == NULL || r->action == NAT_ACCEPT || r->end != end || !is_about(r, &f->copy, ends))
		return false;
	*rule = r;
	return true;
}

static bool is_served(const struct snapshot *s, const struct flow_copy *c,
	const struct ip_addr *own, rte_be16_t port)
{
	return c->proto == IPPROTO_UDP && translate_port_serves(s, own, port);
}

// Whether the source may become that of the copy.
static bool source_is_right(
	const struct nat_rule *r, const struct snapshot *s, const struct flow_copy *c)
{
	const struct ip_addr *src = &c->to.src;
	const struct ip_addr mapped = nat_rule_address(r, &c->from.src);

	if (r->action == NAT_NETMAP)
		return ip_addr_equal(src, &mapped);
	return r->port ? snapshot_has(s, src)
		       : memcmp(src, &r->first, sizeof(*src)) >= 0 &&
				 memcmp(src, &r->last, sizeof(*src)) <= 0;
}

// Whether the rule, NULL: none, chooses the port of the copy for the source.
static bool port_is_right(const struct nat_rule *r, const struct flow_copy *c)
{
	const uint32_t port = rte_be_to_cpu_16(c->to.src_port);
	const bool any = r == NULL || r->port_min == 0;

	if (any && c->to.src_port == c->from.src_port)
		return true;
	return port >= (any ? NAT_PORT_MIN : r->port_min) &&
	       port <= (any ? UINT16_MAX : r->port_max);
}

bool binding_learn(struct flow_line *f, const struct snapshot *s)
{
	struct flow_copy *c = &f->copy;
	struct ip_ends ends = c->from;
	const struct nat_rule *to, *from;

	if (s->nat == NULL || !find(&to, f, s->nat, NAT_TO, &ends))
		return false;
	if (to != NULL) {
		if (is_served(s, c, &ends.dst, ends.dst_port))
			return false;
		ends.dst = nat_rule_address(to, &ends.dst);
		if (has_ports(c))
			ends.dst_port = nat_rule_port(to, ends.dst_port);
	}
	if (!find(&from, f, s->nat, NAT_FROM, &ends) || (to == NULL && from == NULL))
		return false;
	c->chosen = (from != NULL ? from->action == NAT_SOURCE : to->action == NAT_DESTINATION) &&
		    (has_ports(c) ||
			    (c->query && icmp_has_ident(c->icmp_type, ip_addr_is_v4(&ends.src))));
	c->of_port = from != NULL && from->port;
	c->logged = (to != NULL && to->log) || (from != NULL && from->log);
	c->rule[NAT_TO] = to != NULL ? to->number : 0;
	c->rule[NAT_FROM] = from != NULL ? from->number : 0;
	if (from != NULL ? !source_is_right(from, s, c) ||
				   is_served(s, c, &c->to.src, c->to.src_port)
			 : !ip_addr_equal(&c->to.src, &ends.src))
		return false;
	return ip_addr_equal(&c->to.dst, &ends.dst) &&
	       (c->query || c->to.dst_port == ends.dst_port) &&
	       (c->chosen ? port_is_right(from, c) : c->to.src_port == ends.src_port);
}
