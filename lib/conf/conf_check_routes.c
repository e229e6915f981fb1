// SPDX-License-Identifier: BSD-3-Clause
#include <string.h>

#include "conf_check.h"
#include "conf_schema.h"

#define LINK_LOCAL_LEN 10

int conf_own_iface(const struct conf *c, const struct ip_addr *a)
{
	unsigned int n;

	for (unsigned int i = 0; i < c->n_ports + c->n_tunnels && !ip_addr_is_none(a); i++) {
		const struct conf_guests *guests = i < c->n_ports ? &c->ports[i].guests : NULL;

		for (const struct conf_iface_addr *own = conf_addrs(c, i, &n); n-- > 0; own++)
			if (ip_addr_equal(&own->addr, a))
				return (int)i;
		for (unsigned int k = 0; guests != NULL && k < guests->n; k++)
			if (ip_addr_equal(&guests->addr[k], a))
				return (int)i;
	}
	return -1;
}

int conf_own_port(const struct conf *c, const struct ip_addr *a)
{
	int iface = conf_own_iface(c, a);

	return iface < (int)c->n_ports ? iface : -1;
}

// A rejected address has the network ::/0.
static bool is_net_with(const struct conf_iface_addr *i, const struct ip_addr *a)
{
	return !ip_addr_is_none(&i->addr) && ip_addr_family(&i->addr) == ip_addr_family(a) &&
	       ip_prefix_contains(&i->net, a);
}

// The longest network of the first n interfaces, of conf_addrs(), that has the address; NULL: none
// has it. *iface: its interface.
static const struct conf_iface_addr *find_network(
	const struct conf *c, unsigned int n, const struct ip_addr *a, int *iface)
{
	const struct conf_iface_addr *longest = NULL;
	unsigned int n_nets;

	*iface = -1;
	for (unsigned int i = 0; i < n; i++)
		for (const struct conf_iface_addr *net = conf_addrs(c, i, &n_nets); n_nets-- > 0;
			net++)
			if (is_net_with(net, a) &&
				(longest == NULL || net->net.len > longest->net.len)) {
				longest = net;
				*iface = (int)i;
			}
	return longest;
}

// Interface with the longest network of all ports and tunnels.
static int network_iface(const struct conf *c, const struct ip_addr *a)
{
	int iface;

	find_network(c, c->n_ports + c->n_tunnels, a, &iface);
	return iface;
}

int conf_link_port(const struct conf *c, const struct ip_addr *a)
{
	int port;

	find_network(c, c->n_ports, a, &port);
	return port;
}

// Whether the route is for packets from one address to another, and better than the one before.
static bool is_better(const struct conf_route *r, const struct conf_route *before,
	const struct ip_addr *src, const struct ip_addr *dst)
{
	if (ip_addr_family(&r->to.addr) != ip_addr_family(dst) ||
		!ip_prefix_contains(&r->to, dst) ||
		(!ip_addr_is_none(&r->source) && !ip_addr_equal(&r->source, src)))
		return false;
	return before == NULL || r->to.len > before->to.len ||
	       (r->to.len == before->to.len && ip_addr_is_none(&before->source));
}

const struct conf_hop *conf_route_hops(
	const struct conf_route *r, struct conf_hop *one, unsigned int *n)
{
	*one = (struct conf_hop){.via = r->via, .port = r->port, .tunnel = r->tunnel, .weight = 1};
	*n = r->type != CONF_ROUTE_UNICAST ? 0 : r->hops.n > 0 ? r->hops.n : 1;
	return r->hops.n > 0 ? r->hops.hop : one;
}

// The port by which a route leads, of several hops that of the first, or n_ports + the first tunnel
// that it leads into; -1: it leads nowhere.
static int route_egress(const struct conf *c, const struct conf_route *r)
{
	struct conf_hop one;
	unsigned int n;
	const struct conf_hop *hop = conf_route_hops(r, &one, &n);

	for (unsigned int i = 0; i < n; i++)
		if (hop[i].tunnel != 0)
			return (int)(c->n_ports + hop[i].tunnel - 1);
	return n > 0 ? (int)hop[0].port : -1;
}

// Index of the port, or n_ports + that of the tunnel, by which packets from src to dst leave; -1:
// there is none.
static int find_egress(const struct conf *c, const struct ip_addr *src, const struct ip_addr *dst)
{
	const struct conf_route *best = NULL;
	int iface;
	const struct conf_iface_addr *net = find_network(c, c->n_ports + c->n_tunnels, dst, &iface);

	for (unsigned int i = 0; i < c->n_routes; i++)
		if (is_better(&c->routes[i], best, src, dst))
			best = &c->routes[i];
	if (best == NULL || (net != NULL && best->to.len <= net->net.len))
		return iface;
	return route_egress(c, best);
}

int conf_egress_port(const struct conf *c, const struct ip_addr *src, const struct ip_addr *dst)
{
	int iface = find_egress(c, src, dst);

	return iface < (int)c->n_ports ? iface : -1;
}

const struct conf_tunnel *conf_egress_tunnel(
	const struct conf *c, const struct ip_addr *src, const struct ip_addr *dst)
{
	int iface = find_egress(c, src, dst);

	return iface >= (int)c->n_ports ? &c->tunnels[iface - (int)c->n_ports] : NULL;
}

bool conf_is_broadcast(const struct conf *c, const struct ip_addr *a)
{
	int iface;
	const struct conf_iface_addr *net = find_network(c, c->n_ports + c->n_tunnels, a, &iface);

	return net != NULL && !conf_is_host(a, &net->net);
}

static bool has_address(const struct conf_port *p, const struct ip_addr *a)
{
	for (unsigned int i = 0; i < p->n_addrs; i++)
		if (ip_addr_equal(&p->addrs[i].addr, a))
			return true;
	return false;
}

// A host gets addresses of either family.
static bool has_family(const struct conf_port *p, enum ip_family family)
{
	if (p->follows_host)
		return true;
	for (unsigned int i = 0; i < p->n_addrs; i++)
		if (!ip_addr_is_none(&p->addrs[i].addr) &&
			ip_addr_family(&p->addrs[i].addr) == family)
			return true;
	return false;
}

// The port that the setting names as the link of address a; net is the port with its network, -1:
// none. -1 after a message.
static int find_named_link(struct conf_reader *r, config_setting_t *name,
	const struct conf_names *ports, const struct ip_addr *a, int net)
{
	const char *text = name->hook == NULL ? config_setting_get_string(name) : NULL;
	int link = text != NULL ? conf_names_find(ports, text) : -1;
	char buf[IP_ADDR_STRLEN];

	if (text == NULL)
		return -1;
	if (link < 0)
		conf_names_reject(r, name, (const struct conf_names *[]){ports, NULL}, text);
	else if (r->nets_known && !has_family(&r->c->ports[link], ip_addr_family(a)))
		conf_err(r, name, "%s has no %s address, must have one",
			conf_ref(conf_item(r, CONF_PORT, (unsigned int)link)),
			ip_addr_is_v4(a) ? "IPv4" : "IPv6");
	else if (net >= 0 && net != link)
		conf_err(r, name, "%s is in the network of %s, port must be that one",
			ip_addr_format(buf, a),
			conf_ref(conf_item(r, CONF_PORT, (unsigned int)net)));
	else
		return link;
	return -1;
}

// Finds the port on whose link another station has address a, or reports why there is none: the one
// that the setting "port" of the item names, without it the one with the network of a. s is the
// setting of the address.
static void find_link(struct conf_reader *r, config_setting_t *item, config_setting_t *s,
	const struct conf_names *ports, const struct ip_addr *a, unsigned int *port)
{
	bool link_local = ip_addr_is_link_local(a); // the same network on every link
	config_setting_t *name = conf_member(item, "port");
	int net = link_local ? -1 : network_iface(r->c, a), link = net;
	char buf[IP_ADDR_STRLEN];

	ip_addr_format(buf, a);
	if (net >= (int)r->c->n_ports) {
		conf_err(r, s, "%s is in the network of %s, must be on the link of a port", buf,
			conf_iface_ref(r, (unsigned int)net));
		return;
	}
	if (name != NULL)
		link = find_named_link(r, name, ports, a, net);
	else if (link_local)
		conf_err(r, s, "%s is link-local, port must name its link", buf);
	else if (net < 0 && r->nets_known)
		conf_err(r, s, "%s is in no port's network, must be in one%s", buf,
			item->parent != r->root ? ", or port must name its link" : "");
	if (link < 0)
		return;
	*port = (unsigned int)link;
	if (link_local ? has_address(&r->c->ports[link], a) : conf_own_iface(r->c, a) >= 0)
		conf_err(r, s, "%s is an address of this gateway, must be another station's", buf);
	else if (!link_local && conf_is_broadcast(r->c, a))
		conf_err(r, s, "%s is %s, must be a host's", buf, conf_no_host(a));
}

static bool has_network(const struct conf *c, unsigned int iface, const struct ip_prefix *net)
{
	unsigned int n;
	const struct conf_iface_addr *a = conf_addrs(c, iface, &n);

	while (n > 0 && !conf_equal_prefix(&a[n - 1].net, net))
		n--;
	return n > 0;
}

// The network of a port or tunnel is reached through that, and never by a route.
static void check_target(struct conf_reader *r, config_setting_t *s, const struct ip_prefix *to)
{
	const char *special = conf_not_unicast(to);

	if (special != NULL)
		conf_err(r, s, "is %s, must be unicast", special);
	else if (ip_addr_is_link_local(&to->addr) && to->len >= LINK_LOCAL_LEN)
		conf_err(r, s, "is link-local, cannot be routed");
	for (unsigned int i = 0; i < r->c->n_ports + r->c->n_tunnels; i++)
		if (has_network(r->c, i, to))
			conf_err(r, s, "is the network of %s", conf_iface_ref(r, i));
}

static int compare_routes(const struct conf *c, unsigned int a, unsigned int b)
{
	int by_to = ip_prefix_compare(&c->routes[a].to, &c->routes[b].to);

	return by_to != 0
		       ? by_to
		       : memcmp(&c->routes[a].source, &c->routes[b].source, sizeof(struct ip_addr));
}

// Only packets that the gateway or its host originates have an own source.
static void check_source(
	struct conf_reader *r, config_setting_t *item, const struct conf_route *route)
{
	config_setting_t *source = conf_given(item, "source");
	char buf[IP_ADDR_STRLEN];

	if (source == NULL || (conf_given(item, "to") != NULL &&
				      !conf_check_same_family(r, item, "to", &route->to.addr,
					      "source", &route->source)))
		return;
	if (ip_addr_is_link_local(&route->source))
		conf_err(r, source, "is link-local, must be an address of wider scope");
	else if (r->nets_known && conf_own_port(r->c, &route->source) < 0)
		conf_err(r, source, "%s is not an address of a port, must be one",
			ip_addr_format(buf, &route->source));
}

static int compare_neighbours(const struct conf *c, unsigned int a, unsigned int b)
{
	const struct conf_neighbour *x = &c->neighbours[a], *y = &c->neighbours[b];
	int by_addr = memcmp(&x->addr, &y->addr, sizeof(x->addr));

	return by_addr != 0 ? by_addr : (x->port > y->port) - (x->port < y->port);
}

static void check_ike(struct conf_reader *r, const struct conf_names *ports)
{
	struct conf *c = r->c;
	config_setting_t *group = conf_given(r->root, "ike");
	config_setting_t *via = group != NULL ? conf_given(group, "via") : NULL;
	char buf[IP_ADDR_STRLEN];

	for (unsigned int i = 0; via != NULL && i < c->n_ike_via; i++) {
		if (ip_addr_is_link_local(&c->ike_via[i]))
			conf_err(r, via, "%s is link-local, must be in a port's network",
				ip_addr_format(buf, &c->ike_via[i]));
		else
			find_link(r, group, via, ports, &c->ike_via[i], &c->ike_port[i]);
	}
	if (via != NULL && c->n_ike_via == 2 &&
		ip_addr_family(&c->ike_via[0]) == ip_addr_family(&c->ike_via[1]))
		conf_err(r, via, "has two addresses of one family, must have one of each");
}

// Names that routes have, and the target of one; NULL: it is not known.
struct route_names {
	struct conf_names ports, tunnels;
	const struct ip_addr *to;
};

static void check_tunnel(struct conf_reader *r, config_setting_t *item,
	const struct conf_names *tunnels, unsigned int *tunnel)
{
	config_setting_t *s = conf_given(item, "tunnel");
	const char *name = s != NULL ? config_setting_get_string(s) : NULL;
	int i = name != NULL ? conf_names_find(tunnels, name) : -1;

	conf_refuse_given(r, item, "via", "is for routes without tunnel");
	conf_refuse_given(r, item, "port", "is for routes without tunnel");
	if (i >= 0)
		*tunnel = 1 + (unsigned int)i;
	else if (name != NULL)
		conf_names_reject(r, s, (const struct conf_names *[]){tunnels, NULL}, name);
}

// IPv4 may have a next hop of IPv6 (RFC 8950).
static void check_via(struct conf_reader *r, config_setting_t *item, const struct route_names *of,
	struct conf_hop *hop)
{
	if (of->to == NULL || !ip_addr_is_v4(&hop->via) ||
		conf_check_same_family(r, item, "to", of->to, "via", &hop->via))
		find_link(r, item, conf_given(item, "via"), &of->ports, &hop->via, &hop->port);
}

// Without via the target is on the link of the port.
static void check_on_link(struct conf_reader *r, config_setting_t *item,
	const struct route_names *of, struct conf_hop *hop)
{
	config_setting_t *port = conf_given(item, "port");
	int link = port != NULL && of->to != NULL ? find_named_link(r, port, &of->ports, of->to, -1)
						  : -1;

	if (link >= 0)
		hop->port = (unsigned int)link;
}

// The item is a route or one of its hops.
static void check_next_hop(struct conf_reader *r, config_setting_t *item,
	const struct route_names *of, struct conf_hop *hop)
{
	if (conf_member(item, "tunnel") != NULL)
		check_tunnel(r, item, &of->tunnels, &hop->tunnel);
	else if (conf_given(item, "via") != NULL)
		check_via(r, item, of, hop);
	else if (conf_member(item, "via") == NULL && conf_member(item, "port") != NULL)
		check_on_link(r, item, of, hop);
	else if (conf_member(item, "via") == NULL)
		conf_require(r, CONF_ROUTE, item, "via");
}

static void refuse_next_hop(struct conf_reader *r, config_setting_t *item, const char *why)
{
	conf_refuse_given(r, item, "via", why);
	conf_refuse_given(r, item, "port", why);
	conf_refuse_given(r, item, "tunnel", why);
}

static void check_hops(struct conf_reader *r, config_setting_t *item, const struct route_names *of,
	struct conf_hops *hops)
{
	config_setting_t *list = conf_given(item, "hops");
	bool tunnels = false, others = false;

	refuse_next_hop(r, item, "is for routes without hops");
	for (unsigned int i = 0; list != NULL && i < hops->n; i++) {
		config_setting_t *hop = config_setting_get_elem(list, i);

		if (!config_setting_is_group(hop))
			continue;
		check_next_hop(r, hop, of, &hops->hop[i]);
		tunnels |= conf_member(hop, "tunnel") != NULL;
		others |= conf_member(hop, "tunnel") == NULL;
	}
	if (!tunnels)
		conf_refuse_given(r, item, "down", "is for routes with tunnel");
	if (tunnels && others)
		conf_err(r, list, "has tunnels and next hops in clear, must have one kind");
}

// A route has a next hop, several, or leads nowhere.
static void check_type(struct conf_reader *r, config_setting_t *item, const struct route_names *of,
	struct conf_route *route)
{
	struct conf_hop one = {.via = route->via};

	if (!config_setting_is_group(item) || conf_rejected(item, "type")) // which was reported
		return;
	if (conf_member(item, "tunnel") == NULL && conf_member(item, "hops") == NULL)
		conf_refuse_given(r, item, "down", "is for routes with tunnel");
	if (route->type != CONF_ROUTE_UNICAST) {
		refuse_next_hop(r, item, "is for routes with type unicast");
		conf_refuse_given(r, item, "hops", "is for routes with type unicast");
	} else if (conf_member(item, "hops") != NULL) {
		check_hops(r, item, of, &route->hops);
	} else {
		check_next_hop(r, item, of, &one);
		route->port = one.port;
		route->tunnel = one.tunnel;
	}
}

void conf_check_routes(struct conf_reader *r)
{
	struct route_names of = {
		.ports = conf_names_sort(r, CONF_PORT), .tunnels = conf_names_sort(r, CONF_TUNNEL)};
	struct conf *c = r->c;
	struct conf_set routes = conf_set_given(r, CONF_ROUTE, (const char *[]){"to", NULL});

	r->routes_known = routes.n == c->n_routes && !conf_rejected(r->root, "routes");
	for (unsigned int i = 0; i < c->n_routes; i++) {
		config_setting_t *item = conf_item(r, CONF_ROUTE, i);
		config_setting_t *to = conf_given(item, "to");

		if (to != NULL)
			check_target(r, to, &c->routes[i].to);
		check_source(r, item, &c->routes[i]);
		of.to = to != NULL ? &c->routes[i].to.addr : NULL;
		check_type(r, item, &of, &c->routes[i]);
	}
	check_ike(r, &of.ports);
	conf_reject_equal(r, CONF_ROUTE, &routes, compare_routes, "to", "has the same target as");
}

void conf_check_neighbours(struct conf_reader *r)
{
	struct conf *c = r->c;
	struct conf_set set = conf_set_given(r, CONF_NEIGHBOUR, (const char *[]){"address", NULL});
	struct conf_names ports = conf_names_sort(r, CONF_PORT);

	for (unsigned int i = 0; i < set.n; i++) {
		struct conf_neighbour *n = &c->neighbours[set.index[i]];
		config_setting_t *item = conf_item(r, CONF_NEIGHBOUR, set.index[i]);

		find_link(r, item, conf_at(item, "address"), &ports, &n->addr, &n->port);
	}
	if (c->n_neighbours > c->neighbours_max)
		conf_err(r, conf_at(r->root, "neighbours"),
			"has %u elements, must have at most neighbour_table.max, which is %u",
			c->n_neighbours, c->neighbours_max);
	conf_reject_equal(
		r, CONF_NEIGHBOUR, &set, compare_neighbours, "address", "has the same address as");
}
