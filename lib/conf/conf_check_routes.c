// SPDX-License-Identifier: BSD-3-Clause
#include <string.h>

#include "conf_check.h"
#include "conf_schema.h"

int conf_own_port(const struct conf *c, const struct ip_addr *a)
{
	for (unsigned int p = 0; p < c->n_ports; p++)
		for (unsigned int i = 0; i < c->ports[p].n_addrs; i++)
			if (!ip_addr_is_none(a) && ip_addr_equal(&c->ports[p].addrs[i].addr, a))
				return (int)p;
	return -1;
}

// A refused address has the network ::/0.
static bool is_net_with(const struct conf_iface_addr *i, const struct ip_addr *a)
{
	return !ip_addr_is_none(&i->addr) && ip_prefix_contains(&i->net, a);
}

int conf_link_port(const struct conf *c, const struct ip_addr *a)
{
	for (unsigned int p = 0; p < c->n_ports; p++)
		for (unsigned int i = 0; i < c->ports[p].n_addrs; i++)
			if (is_net_with(&c->ports[p].addrs[i], a))
				return (int)p;
	return -1;
}

bool conf_is_broadcast(const struct conf *c, const struct ip_addr *a)
{
	for (unsigned int p = 0; p < c->n_ports; p++)
		for (unsigned int i = 0; i < c->ports[p].n_addrs; i++)
			if (is_net_with(&c->ports[p].addrs[i], a) &&
				!conf_is_host(a, &c->ports[p].addrs[i].net))
				return true;
	return false;
}

// Finds the port on whose link another station has address a, or reports why there is none.
static void find_link(
	struct conf_reader *r, config_setting_t *s, const struct ip_addr *a, unsigned int *port)
{
	int link = conf_link_port(r->c, a);
	char buf[IP_ADDR_STRLEN];

	ip_addr_format(buf, a);
	if (link < 0 && r->nets_known)
		conf_err(r, s, "%s is in no port's network, must be in one", buf);
	if (link < 0)
		return;
	*port = (unsigned int)link;
	if (conf_own_port(r->c, a) >= 0)
		conf_err(r, s, "%s is an address of this gateway, must be another station's", buf);
	else if (conf_is_broadcast(r->c, a))
		conf_err(r, s, "%s is a network or broadcast address, must be a host's", buf);
}

// The network of a port is reached through the port, and never by a route.
static void check_target(struct conf_reader *r, config_setting_t *s, const struct ip_prefix *to)
{
	const char *special = conf_not_unicast(to);

	if (special != NULL)
		conf_err(r, s, "is %s, must be unicast", special);
	for (unsigned int p = 0; p < r->c->n_ports; p++)
		for (unsigned int i = 0; i < r->c->ports[p].n_addrs; i++) {
			const struct ip_prefix *net = &r->c->ports[p].addrs[i].net;

			if (net->len == to->len && ip_addr_equal(&net->addr, &to->addr))
				conf_err(r, s, "is the network of %s",
					conf_ref(r, conf_item(r, "ports", p)));
		}
}

static int compare_routes(const struct conf *c, unsigned int a, unsigned int b)
{
	const struct ip_prefix *x = &c->routes[a].to, *y = &c->routes[b].to;
	int by_addr = memcmp(&x->addr, &y->addr, sizeof(x->addr));

	return by_addr != 0 ? by_addr : x->len - y->len;
}

static int compare_neighbours(const struct conf *c, unsigned int a, unsigned int b)
{
	return memcmp(&c->neighbours[a].addr, &c->neighbours[b].addr, sizeof(struct ip_addr));
}

void conf_check_routes(struct conf_reader *r)
{
	struct conf *c = r->c;
	struct conf_set routes =
		conf_set_given(r, "routes", c->n_routes, (const char *[]){"to", NULL});
	struct conf_set neighbours =
		conf_set_given(r, "neighbours", c->n_neighbours, (const char *[]){"address", NULL});

	r->routes_known = routes.n == c->n_routes && !conf_refused(r->root, "routes");
	for (unsigned int i = 0; i < c->n_routes; i++) {
		config_setting_t *item = conf_item(r, "routes", i);
		config_setting_t *to = conf_given(item, "to"), *via = conf_given(item, "via");

		if (to != NULL)
			check_target(r, to, &c->routes[i].to);
		if (via != NULL)
			find_link(r, via, &c->routes[i].via, &c->routes[i].port);
	}
	for (unsigned int i = 0; i < neighbours.n; i++) {
		struct conf_neighbour *n = &c->neighbours[neighbours.index[i]];
		config_setting_t *item = conf_item(r, "neighbours", neighbours.index[i]);

		find_link(r, conf_at(item, "address"), &n->addr, &n->port);
	}
	conf_refuse_equal(r, "routes", &routes, compare_routes, "to", "has the same target as");
	conf_refuse_equal(r, "neighbours", &neighbours, compare_neighbours, "address",
		"has the same address as");
}
