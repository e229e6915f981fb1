// SPDX-License-Identifier: BSD-3-Clause
#include "host_route.h"

#include <stdio.h>
#include <string.h>

bool host_route_is_same(const struct host_route *a, const struct host_route *b)
{
	return ip_addr_equal(&a->via, &b->via) && strcmp(a->dev, b->dev) == 0 &&
	       ip_addr_equal(&a->source, &b->source);
}

static bool any_covers(const struct conf_prefixes *outer, const struct ip_prefix *inner)
{
	bool found = false;

	for (unsigned int i = 0; i < outer->n; i++)
		found |= ip_prefix_covers(&outer->at[i], inner);
	return found;
}

// Whether neither end was given.
static bool is_for_all(const struct conf_policy *p)
{
	return p->family == IP_ANY && p->remote.n == 1;
}

// An own address that the kernel has and the policy covers, preferably of the port. NULL: none.
static const struct ip_addr *address_of(const struct conf *conf, const struct conf_policy *policy,
	enum ip_family family, unsigned int port)
{
	for (unsigned int i = 0; i < conf->n_ports; i++) {
		const struct conf_port *c = &conf->ports[(port + i) % conf->n_ports];

		for (unsigned int a = 0; c->host != NULL && a < c->n_addrs; a++) {
			const struct ip_addr *own = &c->addrs[a].addr;

			if (ip_addr_family(own) == family &&
				conf_prefixes_contain(&policy->local, own) &&
				!ip_addr_is_link_local(own))
				return own;
		}
	}
	return NULL;
}

// The first tunnel for all of a destination that the host has an address for, and that address.
// NULL: there is none. A policy for both families covers whatever the kernel chooses.
static const struct conf_policy *tunnel_to(const struct conf *conf, const struct ip_prefix *to,
	unsigned int port, struct ip_addr *source)
{
	for (unsigned int i = 0; i < conf->n_policies; i++) {
		const struct conf_policy *p = &conf->policies[i];
		const struct ip_addr *own;

		if (p->action != SPD_PROTECT || is_for_all(p) || !any_covers(&p->remote, to))
			continue;
		own = address_of(conf, p, ip_addr_family(&to->addr), port);
		if (own == NULL)
			continue;
		*source = *own;
		return p;
	}
	return NULL;
}

// The next hop of a route out of a port with a host, of several the first: the gateway chooses
// itself. NULL: there is none. *one: room for it, as of conf_route_hops().
static const struct conf_hop *hop_of(
	const struct conf *conf, const struct conf_route *r, struct conf_hop *one)
{
	unsigned int n;
	const struct conf_hop *hop = conf_route_hops(r, one, &n);

	for (unsigned int i = 0; i < n; i++)
		if (hop[i].tunnel == 0 && conf->ports[hop[i].port].host != NULL)
			return &hop[i];
	return NULL;
}

// The route of the configuration to all of the destination, out of a port with a host. NULL: there
// is none, or the destination is in the network of a port.
static const struct conf_route *route_to(const struct conf *conf, const struct ip_prefix *to)
{
	const struct conf_route *found = NULL;

	for (unsigned int i = 0; i < conf->n_ports; i++)
		for (unsigned int a = 0; a < conf->ports[i].n_addrs; a++)
			if (ip_prefix_covers(&conf->ports[i].addrs[a].net, to))
				return NULL;
	for (unsigned int i = 0; i < conf->n_routes; i++) {
		const struct conf_route *r = &conf->routes[i];
		struct conf_hop one;

		if (hop_of(conf, r, &one) != NULL && ip_addr_is_none(&r->source) &&
			ip_prefix_covers(&r->to, to) &&
			(found == NULL || r->to.len > found->to.len))
			found = r;
	}
	return found;
}

static bool has_prefix(const struct conf_prefixes *all, const struct ip_prefix *p)
{
	bool found = false;

	for (unsigned int i = 0; i < all->n; i++)
		found |= ip_prefix_compare(&all->at[i], p) == 0;
	return found;
}

// Whether an earlier policy is about the same network.
static bool is_repeated(
	const struct conf *conf, unsigned int policy, const struct ip_prefix *remote)
{
	for (unsigned int i = 0; i < policy; i++)
		if (conf->policies[i].action == SPD_PROTECT &&
			has_prefix(&conf->policies[i].remote, remote))
			return true;
	return false;
}

static bool has_family(const struct conf_iface_addr *a, unsigned int n, const struct ip_addr *addr)
{
	while (n > 0 && (ip_addr_is_link_local(&a[n - 1].addr) ||
				ip_addr_family(&a[n - 1].addr) != ip_addr_family(addr)))
		n--;
	return n > 0;
}

// An address of a protected port with a host, of the family. NULL: there is none.
static const struct ip_addr *protected_address(
	const struct conf *conf, enum ip_family family, const char **dev)
{
	for (const struct conf_port *c = conf->ports; c < conf->ports + conf->n_ports; c++)
		for (unsigned int a = 0; c->host != NULL && !c->unprotected && a < c->n_addrs; a++)
			if (ip_addr_family(&c->addrs[a].addr) == family &&
				!ip_addr_is_link_local(&c->addrs[a].addr)) {
				*dev = c->host;
				return &c->addrs[a].addr;
			}
	return NULL;
}

// A route into a tunnel of the list. False: no host can send there.
static bool into_tunnel(const struct conf *conf, const struct conf_route *c,
	const struct conf_hop *hop, struct host_route *r)
{
	const struct conf_tunnel *t = &conf->tunnels[hop->tunnel - 1];
	const char *dev = t->host;
	const struct ip_addr *own;

	if (dev == NULL || !has_family(t->addrs, t->n_addrs, &c->to.addr)) {
		own = protected_address(conf, ip_addr_family(&c->to.addr), &dev);
		if (own == NULL)
			return false;
		r->source = *own;
	}
	snprintf(r->dev, sizeof(r->dev), "%s", dev);
	return true;
}

static bool by_port(const struct conf *conf, const struct conf_route *c, const struct conf_hop *hop,
	struct host_route *r)
{
	if (conf->ports[hop->port].host == NULL)
		return false;
	snprintf(r->dev, sizeof(r->dev), "%s", conf->ports[hop->port].host);
	r->via = hop->via;
	tunnel_to(conf, &c->to, hop->port, &r->source);
	return true;
}

// Of several hops the first that a host has: the gateway chooses itself.
static bool by_hop(const struct conf *conf, const struct conf_route *c, struct host_route *r)
{
	struct conf_hop one;
	unsigned int n;
	const struct conf_hop *hop = conf_route_hops(c, &one, &n);

	for (unsigned int i = 0; i < n; i++)
		if (hop[i].tunnel != 0 ? into_tunnel(conf, c, &hop[i], r)
				       : by_port(conf, c, &hop[i], r))
			return true;
	return false;
}

// The route to a network of a policy that protects, if the configuration's route there is a wider
// one.
static void into_policy(const struct conf *conf, unsigned int policy,
	const struct ip_prefix *remote, void (*add)(void *arg, const struct host_route *route),
	void *arg)
{
	const struct conf_route *c = route_to(conf, remote);
	struct host_route r = {.to = *remote, .where = conf->policies[policy].where};
	const struct conf_hop *hop;
	struct conf_hop one;

	if (c == NULL || ip_prefix_compare(&c->to, remote) == 0 ||
		is_repeated(conf, policy, remote))
		return;
	hop = hop_of(conf, c, &one);
	r.via = hop->via;
	snprintf(r.dev, sizeof(r.dev), "%s", conf->ports[hop->port].host);
	if (tunnel_to(conf, remote, hop->port, &r.source) != NULL)
		add(arg, &r);
}

void host_routes_each(
	const struct conf *conf, void (*add)(void *arg, const struct host_route *route), void *arg)
{
	for (unsigned int i = 0; i < conf->n_routes; i++) {
		const struct conf_route *c = &conf->routes[i];
		struct host_route r = {.to = c->to, .where = c->where};

		// The gateway chooses by source whatever interface the kernel sends by.
		if (ip_addr_is_none(&c->source) && by_hop(conf, c, &r))
			add(arg, &r);
	}
	for (unsigned int i = 0; i < conf->n_policies; i++) {
		const struct conf_policy *p = &conf->policies[i];

		for (unsigned int k = 0; p->action == SPD_PROTECT && k < p->remote.n; k++)
			into_policy(conf, i, &p->remote.at[k], add, arg);
	}
}
