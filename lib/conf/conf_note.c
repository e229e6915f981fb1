// SPDX-License-Identifier: BSD-3-Clause
// Notes about a valid configuration: SAs and policies with which no packet comes through, rules
// that need a policy which only an IKE daemon can add, rules that most likely should have host
// = true, and rules of nat that take packets away from policies, from each other or from the host,
// are meant for the host, or find no address.
#include "conf_check.h"

#include <netinet/in.h>
#include <string.h>

// --- SAs and policies ---

static void note(FILE *out, const struct conf_where *where, const char *what, const char *name)
{
	fprintf(out, "note: %s:%u: %s \"%s\": ", where->file, where->line, what, name);
}

static bool leads_inside(const struct conf *c, const struct conf_route *r)
{
	struct conf_hop one;
	unsigned int n;
	const struct conf_hop *hop = conf_route_hops(r, &one, &n);

	for (unsigned int i = 0; i < n; i++)
		if (hop[i].tunnel != 0 || !c->ports[hop[i].port].unprotected)
			return true;
	return false;
}

// Whether an own address, or on the protected side the network of a port or a route, overlaps.
static bool is_inside(const struct conf *c, const struct ip_prefix *local)
{
	for (unsigned int i = 0; i < c->n_ports; i++)
		for (unsigned int a = 0; a < c->ports[i].n_addrs; a++)
			if (ip_prefix_contains(local, &c->ports[i].addrs[a].addr) ||
				(!c->ports[i].unprotected &&
					ip_prefix_overlaps(local, &c->ports[i].addrs[a].net)))
				return true;
	for (unsigned int i = 0; i < c->n_routes; i++)
		if (leads_inside(c, &c->routes[i]) && ip_prefix_overlaps(local, &c->routes[i].to))
			return true;
	return false;
}

// Whether an end of another policy that protects overlaps, which is the same end or not.
static bool is_end_of_another(
	const struct conf *c, const struct conf_policy *p, const struct ip_prefix *net, bool remote)
{
	for (const struct conf_policy *o = c->policies; o < c->policies + c->n_policies; o++)
		if (o != p && o->action == SPD_PROTECT &&
			conf_prefixes_overlap(remote ? &o->remote : &o->local, net))
			return true;
	return false;
}

// Whether a rule of nat gives packets for addresses of the prefix another destination.
static bool is_translated(const struct conf *c, const struct ip_prefix *local)
{
	for (const struct conf_nat *n = c->nat; n < c->nat + c->n_nat; n++)
		if (n->action != NAT_ACCEPT && n->end == NAT_TO &&
			conf_prefixes_overlap(&n->match.destination, local))
			return true;
	return false;
}

static bool is_tunnel(const struct conf *c, const struct conf_policy *p)
{
	return p->action == SPD_PROTECT && c->sas[p->sa_out].opt.mode == SA_TUNNEL;
}

// Packets out of a tunnel go to the protected side, once translated, or into another tunnel.
static void note_local(
	const struct conf *c, const struct conf_policy *p, const struct ip_prefix *net, FILE *out)
{
	char local[IP_PREFIX_STRLEN];

	if (conf_not_unicast(net) != NULL || is_inside(c, net) || is_translated(c, net) ||
		is_end_of_another(c, p, net, true))
		return;
	note(out, &p->where, "policy", p->name);
	fprintf(out,
		"no protected port or route leads to local %s: packets out of the tunnel have no "
		"destination\n",
		ip_prefix_format(local, net));
}

static void note_multicast(const struct conf_policy *p, const char *end,
	const struct conf_prefixes *prefixes, FILE *out)
{
	char text[IP_PREFIX_STRLEN];

	for (unsigned int i = 0; i < prefixes->n; i++) {
		const char *kind = conf_not_unicast(&prefixes->at[i]);

		if (kind == NULL)
			continue;
		note(out, &p->where, "policy", p->name);
		fprintf(out, "%s %s is %s: such packets are not forwarded into tunnels\n", end,
			ip_prefix_format(text, &prefixes->at[i]), kind);
	}
}

static bool is_everything(const struct ip_prefix *p)
{
	return p->len == (ip_addr_is_v4(&p->addr) ? 96 : 0);
}

// A route to a protected port at least as long as remote, unless a tunnel sends from there: a
// policy for all destinations may have such routes.
static void note_route_back(const struct conf *c, const struct conf_policy *p,
	const struct ip_prefix *remote, FILE *out)
{
	char to[IP_PREFIX_STRLEN];

	for (const struct conf_route *r = c->routes; r < c->routes + c->n_routes; r++) {
		const struct conf_port *port = &c->ports[r->port];

		if (!conf_route_has_port(r) || port->unprotected || is_everything(remote) ||
			r->to.len < remote->len || !ip_prefix_overlaps(remote, &r->to) ||
			conf_prefixes_overlap(&p->local, &r->to) ||
			is_end_of_another(c, p, &r->to, false))
			continue;
		note(out, &p->where, "policy", p->name);
		fprintf(out,
			"route %s leads to the protected port \"%s\", but is in remote: packets "
			"out of the tunnel with a source there are dropped as ip_source\n",
			ip_prefix_format(to, &r->to), port->name);
	}
}

// ESP from the address of one network provider to another one, which drops it.
static void note_egress(const struct conf *c, const struct conf_sa *sa, FILE *out)
{
	const struct sa_options *o = &sa->opt;
	int own = conf_own_port(c, &o->local), by;
	char local[IP_ADDR_STRLEN], remote[IP_ADDR_STRLEN];

	if (o->direction != SA_OUT || own < 0 || ip_addr_is_none(&o->remote))
		return;
	by = conf_egress_port(c, &o->local, &o->remote);
	if (by < 0 || by == own || !c->ports[by].unprotected)
		return;
	note(out, &sa->where, "sa", sa->live.name);
	ip_addr_format(local, &o->local);
	fprintf(out,
		"local %s is an address of port \"%s\", but the route to %s leads to port \"%s\": "
		"a "
		"route with source = \"%s\" is missing?\n",
		local, c->ports[own].name, ip_addr_format(remote, &o->remote), c->ports[by].name,
		local);
}

static void notes_policies(const struct conf *c, FILE *out)
{
	for (unsigned int i = 0; i < c->n_sas; i++) {
		if (!conf_sa_is_used(c, i)) {
			note(out, &c->sas[i].where, "sa", c->sas[i].live.name);
			fprintf(out, "no policy uses it\n");
		}
		note_egress(c, &c->sas[i], out);
	}
	for (const struct conf_policy *p = c->policies; p < c->policies + c->n_policies; p++) {
		if (!is_tunnel(c, p))
			continue;
		note_multicast(p, "local", &p->local, out);
		note_multicast(p, "remote", &p->remote, out);
		for (unsigned int i = 0; i < p->local.n; i++)
			note_local(c, p, &p->local.at[i], out);
		for (unsigned int i = 0; i < p->remote.n; i++)
			note_route_back(c, p, &p->remote.at[i], out);
	}
}

// --- tunnels ---

static bool has_route(const struct conf *c, unsigned int tunnel)
{
	for (const struct conf_route *r = c->routes; r < c->routes + c->n_routes; r++)
		if (r->tunnel == 1 + tunnel)
			return true;
	return c->tunnels[tunnel].n_addrs > 0;
}

static void notes_tunnels(const struct conf *c, FILE *out)
{
	char to[IP_PREFIX_STRLEN];

	for (unsigned int i = 0; i < c->n_tunnels; i++)
		if (!has_route(c, i)) {
			note(out, &c->tunnels[i].where, "tunnel", c->tunnels[i].name);
			fprintf(out, "no route leads into it\n");
		}
	for (const struct conf_route *r = c->routes; r < c->routes + c->n_routes; r++)
		if (r->tunnel != 0 && r->to.len == 128 && conf_own_port(c, &r->to.addr) >= 0) {
			note(out, &r->where, "route", ip_prefix_format(to, &r->to));
			fprintf(out, "is an own address: no packet to it goes into a tunnel\n");
		}
}

// --- rules ---

static bool is_any_or_equal(unsigned int a, unsigned int b, unsigned int any)
{
	return a == any || b == any || a == b;
}

static bool protos_meet(const struct conf_protos *a, const struct conf_protos *b)
{
	bool meet = false;

	for (unsigned int i = 0; i < a->n * b->n; i++)
		meet |= is_any_or_equal(a->at[i % a->n], b->at[i / a->n], PROTO_ANY);
	return meet;
}

static bool ranges_meet(const struct conf_ranges *a, const struct conf_ranges *b)
{
	bool meet = false;

	for (unsigned int i = 0; i < a->n * b->n; i++)
		meet |= a->at[i % a->n].min <= b->at[i / a->n].max &&
			a->at[i % a->n].max >= b->at[i / a->n].min;
	return meet;
}

// Whether a policy lets packets in that a rule matches: the remote end sends them.
static bool lets_in(const struct conf_policy *p, const struct conf_rule *rule)
{
	return p->action != SPD_DISCARD && is_any_or_equal(p->family, rule->match.family, IP_ANY) &&
	       protos_meet(&p->proto, &rule->match.proto) &&
	       conf_prefixes_meet(&p->remote, &rule->match.source) &&
	       conf_prefixes_meet(&p->local, &rule->match.destination) &&
	       ranges_meet(&p->remote_port, &rule->match.source_port) &&
	       ranges_meet(&p->local_port, &rule->match.destination_port);
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
	if (rule->match.in >= c->n_ports || !c->ports[rule->match.in].unprotected ||
		rule->tunnel[0] != '\0' || !accepts_new(rule))
		return false;
	for (unsigned int i = 0; i < c->n_policies; i++)
		if (lets_in(&c->policies[i], rule))
			return false;
	return true;
}

// The port that has the address; NULL: none has.
static const struct conf_port *port_of(const struct conf *c, const struct ip_addr *own)
{
	int port = conf_own_port(c, own);

	return port >= 0 ? &c->ports[port] : NULL;
}

// The port that a rule for packets that are forwarded names by an own address; NULL: it does not.
static const struct conf_port *own_port(const struct conf *c, const struct conf_rule *rule)
{
	const struct conf_prefixes *to = &rule->match.destination;
	const struct conf_port *port = NULL;

	for (unsigned int i = 0; i < to->n && port == NULL && !rule->host; i++)
		port = to->at[i].len == 128 ? port_of(c, &to->at[i].addr) : NULL;
	return port;
}

static void notes_rules(const struct conf *c, FILE *out)
{
	for (unsigned int i = 0; i < c->n_rules; i++) {
		const struct conf_rule *rule = &c->rules[i];
		const struct conf_port *own = own_port(c, rule);

		if (own == NULL && !needs_policy(c, rule))
			continue;
		note(out, &rule->where, "rule", rule->name);
		if (own != NULL)
			fprintf(out,
				"destination is an own address of port \"%s\": packets to it are "
				"not forwarded; host = true is missing?\n",
				own->name);
		else
			fprintf(out,
				"accepts nothing unless an IKE daemon adds a policy: port \"%s\" "
				"faces the unprotected side, where packets in clear need a policy "
				"with action \"bypass\"\n",
				c->ports[rule->match.in].name);
	}
}

// --- nat ---

static struct ip_prefix new_addresses(const struct conf_nat *n)
{
	return (struct ip_prefix){n->to.first, n->to.len != 0 ? n->to.len : 128};
}

// Whether a rule of nat before this one excludes the traffic of the policy.
static bool is_excluded(const struct conf *c, const struct conf_nat *n, const struct conf_policy *p)
{
	for (const struct conf_nat *o = c->nat; o < n; o++)
		if (o->action == NAT_ACCEPT && conf_prefixes_meet(&o->match.source, &p->local) &&
			conf_prefixes_meet(&o->match.destination, &p->remote))
			return true;
	return false;
}

// The policy that protects packets of the sources, but not once these are translated; NULL: none.
static const struct conf_policy *loses(const struct conf *c, const struct conf_nat *n)
{
	const struct ip_prefix to = new_addresses(n);

	for (const struct conf_policy *p = c->policies; p < c->policies + c->n_policies; p++)
		if (p->action == SPD_PROTECT && conf_prefixes_meet(&n->match.source, &p->local) &&
			conf_prefixes_meet(&n->match.destination, &p->remote) &&
			(n->to.port || !conf_prefixes_overlap(&p->local, &to)) &&
			!is_excluded(c, n, p))
			return p;
	return NULL;
}

static bool has_policy_for(const struct conf *c, const struct ip_prefix *local)
{
	for (const struct conf_policy *p = c->policies; p < c->policies + c->n_policies; p++)
		if (p->action != SPD_DISCARD && conf_prefixes_overlap(&p->local, local))
			return true;
	return c->n_policies == 0;
}

// The netmap before this one that exchanges another prefix of the same end for the same addresses.
static const struct conf_nat *same_netmap(const struct conf *c, const struct conf_nat *n)
{
	const struct ip_prefix to = new_addresses(n);

	for (const struct conf_nat *o = c->nat; n->action == NAT_NETMAP && o < n; o++) {
		const struct ip_prefix other = new_addresses(o);

		if (o->action == NAT_NETMAP && o->end == n->end &&
			ip_prefix_overlaps(&to, &other) &&
			conf_prefixes_meet(&n->match.destination, &o->match.destination))
			return o;
	}
	return NULL;
}

// Whether the port `out` has no address that packets of the rule may get.
static bool lacks_address(const struct conf *c, const struct conf_nat *n)
{
	const uint32_t out = n->match.out;

	if (!n->to.port || out >= c->n_ports)
		return false;
	for (unsigned int a = 0; a < c->ports[out].n_addrs; a++)
		if (is_any_or_equal(
			    n->match.family, ip_addr_family(&c->ports[out].addrs[a].addr), IP_ANY))
			return false;
	return true;
}

static bool is_new_source(const struct conf_nat *n, unsigned int port, const struct ip_addr *own)
{
	if (n->to.port)
		return is_any_or_equal(n->match.out, port, CONF_PORT_ANY);
	return memcmp(&n->to.first, own, sizeof(*own)) <= 0 &&
	       memcmp(own, &n->to.last, sizeof(*own)) <= 0;
}

// Whether packets to a new source of the rule of nat may be for the host by the other rule.
static bool shares_address(
	const struct conf *c, const struct conf_nat *n, const struct conf_rule *rule)
{
	for (unsigned int i = 0; i < c->n_ports; i++)
		for (unsigned int a = 0; a < c->ports[i].n_addrs; a++) {
			const struct ip_addr *own = &c->ports[i].addrs[a].addr;

			if (is_new_source(n, i, own) &&
				conf_prefixes_contain(&rule->match.destination, own))
				return true;
		}
	return false;
}

// Whether the rule names ports of programs of the host which connections that are translated may
// get. Those of IKE they never get.
static bool loses_service(const struct conf *c, const struct conf_nat *n,
	const struct conf_rule *rule, const struct proto_ports *p)
{
	const bool any = p->min == 0 && p->max == UINT16_MAX, chosen = n->to_port.min != 0;
	const bool ike = rule->match.proto.at[0] == IPPROTO_UDP && rule->match.proto.n == 1 &&
			 p->min == p->max && (p->min == IKE_PORT || p->min == IKE_NAT_PORT);

	return n->action == NAT_SOURCE && rule->host && accepts_new(rule) && !any && !ike &&
	       protos_meet(&n->match.proto, &rule->match.proto) &&
	       is_any_or_equal(n->match.out, rule->match.in, CONF_PORT_ANY) &&
	       (!chosen || (p->min <= n->to_port.max && p->max >= n->to_port.min)) &&
	       shares_address(c, n, rule);
}

static void note_service(
	const struct conf *c, const struct conf_nat *n, const struct conf_rule *rule, FILE *out)
{
	for (unsigned int i = 0; i < rule->match.destination_port.n; i++) {
		const struct proto_ports *p = &rule->match.destination_port.at[i];

		if (!loses_service(c, n, rule, p))
			continue;
		note(out, &n->where, "nat", n->name);
		fprintf(out,
			"rule \"%s\" admits packets to ports %u-%u of the host, which "
			"connections of clients may get as their source: set to_port to ports "
			"without these\n",
			rule->name, p->min, p->max);
	}
}

static void notes_services(const struct conf *c, const struct conf_nat *n, FILE *out)
{
	for (const struct conf_rule *rule = c->rules; rule < c->rules + c->n_rules; rule++)
		note_service(c, n, rule, out);
}

static void notes_source(const struct conf *c, const struct conf_nat *n, FILE *out)
{
	const bool tunnel = n->match.out != CONF_PORT_ANY && n->match.out >= CONF_IFACE_TUNNEL;
	const struct conf_policy *p = tunnel ? NULL : loses(c, n);
	const struct conf_nat *same = same_netmap(c, n);
	const struct ip_prefix to = new_addresses(n);

	if (p != NULL) {
		note(out, &n->where, "nat", n->name);
		fprintf(out,
			"policy \"%s\" protects packets of these sources, but not with their new "
			"ones: exclude them by a rule with action \"accept\" before it, or give "
			"the policy the new ones as local\n",
			p->name);
	}
	if (!tunnel && !n->to.port && !has_policy_for(c, &to)) {
		note(out, &n->where, "nat", n->name);
		fprintf(out, "no policy has the new addresses as local: unless an IKE daemon adds "
			     "one, packets are dropped\n");
	}
	if (lacks_address(c, n)) {
		note(out, &n->where, "nat", n->name);
		fprintf(out,
			"port \"%s\" has no address of the packets' family: unless their route "
			"has a source, they are dropped as nat_ports\n",
			c->ports[n->match.out].name);
	}
	notes_services(c, n, out);
	if (same != NULL) {
		note(out, &n->where, "nat", n->name);
		fprintf(out,
			"nat \"%s\" exchanges another prefix for the same addresses: of two "
			"hosts with one new address, one may find it in use\n",
			same->name);
	}
}

static void note_destination(const struct conf *c, const struct conf_nat *n, FILE *out)
{
	const struct conf_port *port = port_of(c, &n->to.first);

	if (port == NULL)
		return;
	note(out, &n->where, "nat", n->name);
	fprintf(out,
		"to is an own address of port \"%s\": the gateway answers pings, but packets to "
		"programs of the host are not translated\n",
		port->name);
}

static void notes_nat(const struct conf *c, FILE *out)
{
	for (const struct conf_nat *n = c->nat; n < c->nat + c->n_nat; n++)
		if (n->action == NAT_DESTINATION)
			note_destination(c, n, out);
		else if (n->action != NAT_ACCEPT && n->end == NAT_FROM)
			notes_source(c, n, out);
}

void conf_notes_print(const struct conf *c, FILE *out)
{
	notes_policies(c, out);
	notes_tunnels(c, out);
	notes_rules(c, out);
	notes_nat(c, out);
}
