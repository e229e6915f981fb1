// SPDX-License-Identifier: BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "build.h"
#include "build_parts.h"
#include "hop.h"
#include "hop_group.h"

#define PER_ADDR_MAX 4 // network, its two broadcast addresses, the address itself
#define NEVER        8

#define V6_PREFIX(o0, o1, o15, bits)                                                               \
	{                                                                                          \
		.addr.b = {o0, o1, [15] = (o15)}, .len = (bits)                                    \
	}

static struct ip_prefix host(const struct ip_addr *a)
{
	return (struct ip_prefix){.addr = *a, .len = 128};
}

static struct ip_prefix v4_prefix(uint32_t addr, uint8_t len)
{
	return (struct ip_prefix){
		.addr = ip_addr_from_v4(rte_cpu_to_be_32(addr)),
		.len = (uint8_t)(IP_V4_BITS + len),
	};
}

// Destinations of no forwarded packet (RFC 1122 3.2.1.3; RFC 4291 2.5.2, 2.5.3, 2.5.6, 2.7).
// Link-local addresses are on the link that a packet came from, or nowhere: no table can tell.
static unsigned int add_never(struct route *r)
{
	static const struct ip_prefix v6[] = {V6_PREFIX(0, 0, 0, 128), V6_PREFIX(0, 0, 1, 128),
		V6_PREFIX(0xff, 0, 0, 8), V6_PREFIX(0xfe, 0x80, 0, 10)};
	const struct nexthop never = {.kind = NEXTHOP_NOT_UNICAST};

	r[0] = (struct route){.to = v4_prefix(0, 8), .nexthop = never};
	r[1] = (struct route){.to = v4_prefix(0x7f000000, 8), .nexthop = never};
	r[2] = (struct route){.to = v4_prefix(0xe0000000, 4), .nexthop = never};
	r[3] = (struct route){.to = v4_prefix(UINT32_MAX, 32), .nexthop = never};
	for (unsigned int i = 0; i < RTE_DIM(v6); i++)
		r[NEVER - RTE_DIM(v6) + i] = (struct route){.to = v6[i], .nexthop = never};
	return NEVER;
}

bool build_has_anycast(const struct conf_iface_addr *a)
{
	return !ip_addr_is_v4(&a->addr) && !ip_addr_is_link_local(&a->addr) && a->net.len < 127;
}

static struct route local(const struct ip_addr *own, uint16_t port)
{
	return (struct route){
		.to = host(own), .nexthop = {.kind = NEXTHOP_LOCAL, .iface = port, .source = *own}};
}

// They have no network of their own.
static unsigned int add_guests(struct route *r, const struct conf_guests *guests, uint16_t port)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < guests->n; i++)
		if (!ip_addr_is_link_local(&guests->addr[i]))
			r[n++] = local(&guests->addr[i], port);
	return n;
}

// Networks of all ports and tunnels, sorted.
struct nets {
	struct ip_prefix *net;
	size_t n;
	bool has_len[129];
};

static int compare_nets(const void *a, const void *b)
{
	const struct ip_prefix *x = a, *y = b;
	int rc = memcmp(&x->addr, &y->addr, sizeof(x->addr));

	return rc != 0 ? rc : x->len - y->len;
}

// False: there is no memory.
static bool nets_list(struct nets *nets, const struct conf *conf)
{
	const unsigned int n_ifaces = conf->n_ports + conf->n_tunnels;
	unsigned int n;

	*nets = (struct nets){
		.net = calloc((size_t)n_ifaces * CONF_ADDRS_MAX, sizeof(nets->net[0]))};
	for (unsigned int i = 0; nets->net != NULL && i < n_ifaces; i++)
		for (const struct conf_iface_addr *a = conf_addrs(conf, i, &n); n-- > 0; a++)
			if (!ip_addr_is_link_local(&a->addr)) {
				nets->net[nets->n++] = a->net;
				nets->has_len[a->net.len] = true;
			}
	if (nets->net != NULL)
		qsort(nets->net, nets->n, sizeof(nets->net[0]), compare_nets);
	return nets->net != NULL;
}

// Whether the address is in a network longer than len: that one counts.
static bool is_in_longer(const struct nets *nets, const struct ip_addr *addr, unsigned int len)
{
	struct ip_prefix net = {.addr = *addr, .len = 128};

	while (--net.len > len) {
		net.addr.b[net.len / 8] &= (uint8_t) ~(0x80u >> net.len % 8);
		if (nets->has_len[net.len] &&
			bsearch(&net, nets->net, nets->n, sizeof(net), compare_nets) != NULL)
			return true;
	}
	return false;
}

// The network, and its addresses that are no host's.
static unsigned int add_network(
	struct route *r, const struct nets *nets, const struct conf_iface_addr *a, uint16_t iface)
{
	struct nexthop nh = {.iface = iface, .source = a->addr};
	unsigned int n = 0;

	if (ip_addr_is_link_local(&a->addr))
		return 0;
	nh.kind = iface_is_tunnel(iface) ? NEXTHOP_TUNNEL : NEXTHOP_CONNECTED;
	r[n++] = (struct route){.to = a->net, .nexthop = nh, .owner = ROUTE_NETWORK};
	if (ip_addr_is_v4(&a->addr) && a->net.len < 127) { // RFC 3021: /31 has no broadcast
		uint32_t hosts = UINT32_MAX >> (a->net.len - IP_V4_BITS);
		uint32_t net = rte_be_to_cpu_32(ip_addr_v4(&a->net.addr));
		const struct ip_prefix ends[] = {v4_prefix(net, 32), v4_prefix(net | hosts, 32)};

		nh.kind = NEXTHOP_NOT_UNICAST;
		for (unsigned int i = 0; i < RTE_DIM(ends); i++)
			if (!is_in_longer(nets, &ends[i].addr, a->net.len))
				r[n++] = (struct route){.to = ends[i], .nexthop = nh};
	}
	nh.kind = NEXTHOP_LOCAL;
	if (build_has_anycast(a) && !is_in_longer(nets, &a->net.addr, a->net.len))
		r[n++] = (struct route){.to = host(&a->net.addr), .nexthop = nh};
	return n;
}

static uint16_t tunnel_number(const struct snapshot *s, unsigned int i)
{
	return spd_at(s->spd, spd_count_policies(s->spd) + i)->iface;
}

// Number of interface i of conf_addrs().
static uint16_t iface_number(const struct snapshot *s, unsigned int i)
{
	return i < s->n_ports ? (uint16_t)i : tunnel_number(s, i - s->n_ports);
}

// The networks of all ports and tunnels, the longest last: where two have the same broadcast
// address, it counts. Of several addresses in a network, the first is added last, as it is the
// source.
static unsigned int add_networks(
	struct route *r, const struct nets *nets, const struct snapshot *s, const struct conf *conf)
{
	unsigned int n = 0, n_addrs;

	for (unsigned int len = 0; len <= 128; len++)
		for (unsigned int i = 0; i < conf->n_ports + conf->n_tunnels; i++) {
			const struct conf_iface_addr *a = conf_addrs(conf, i, &n_addrs);

			while (n_addrs-- > 0)
				if (a[n_addrs].net.len == len)
					n += add_network(
						r + n, nets, &a[n_addrs], iface_number(s, i));
		}
	return n;
}

static unsigned int add_own(
	struct route *r, const struct snapshot *s, const struct conf *conf, unsigned int i)
{
	unsigned int n = 0, n_addrs;
	const struct conf_iface_addr *a = conf_addrs(conf, i, &n_addrs);

	for (; n_addrs-- > 0; a++)
		if (!ip_addr_is_link_local(&a->addr))
			r[n++] = local(&a->addr, iface_number(s, i));
	return n;
}

struct ip_addr build_source_towards(const struct conf_port *port, const struct ip_addr *gateway)
{
	struct ip_addr other = port->addrs[0].addr;

	for (unsigned int i = 0; i < port->n_addrs; i++) {
		const struct ip_addr *own = &port->addrs[i].addr;

		if (ip_addr_family(own) != ip_addr_family(gateway))
			continue;
		if (!ip_addr_is_link_local(gateway) &&
			ip_prefix_contains(&port->addrs[i].net, gateway))
			return *own;
		if (ip_addr_family(&other) != ip_addr_family(own) ||
			(ip_addr_is_link_local(&other) && !ip_addr_is_link_local(own)))
			other = *own;
	}
	return other;
}

struct ip_addr build_source_by(const struct conf *conf, unsigned int port, const struct ip_addr *to,
	const struct ip_addr *via)
{
	if (ip_addr_is_none(via))
		return build_source_towards(&conf->ports[port], to);
	if (ip_addr_family(via) == ip_addr_family(to))
		return build_source_towards(&conf->ports[port], via);
	for (unsigned int i = 0; i < conf->n_ports; i++) {
		const struct conf_port *p = &conf->ports[(port + i) % conf->n_ports];

		for (unsigned int a = 0; a < p->n_addrs; a++)
			if (ip_addr_is_v4(&p->addrs[a].addr))
				return p->addrs[a].addr;
	}
	return (struct ip_addr){0};
}

static struct nexthop next_hop(const struct snapshot *s, const struct conf *conf,
	const struct conf_route *c, const struct conf_hop *hop)
{
	if (hop->tunnel != 0)
		return (struct nexthop){
			.kind = NEXTHOP_TUNNEL, .iface = tunnel_number(s, hop->tunnel - 1)};
	return (struct nexthop){
		.kind = ip_addr_is_none(&hop->via) ? NEXTHOP_CONNECTED : NEXTHOP_GATEWAY,
		.iface = (uint16_t)hop->port,
		.gateway = hop->via,
		.source = ip_addr_is_none(&c->source)
				  ? build_source_by(conf, hop->port, &c->to.addr, &hop->via)
				  : c->source,
	};
}

static struct route configured(
	const struct snapshot *s, const struct conf *conf, const struct conf_route *c)
{
	static const enum nexthop_kind nowhere[] = {
		[CONF_ROUTE_BLACKHOLE] = NEXTHOP_BLACKHOLE,
		[CONF_ROUTE_UNREACHABLE] = NEXTHOP_UNREACHABLE,
		[CONF_ROUTE_PROHIBIT] = NEXTHOP_PROHIBIT,
	};
	struct conf_hop one;
	unsigned int n;

	if (c->type != CONF_ROUTE_UNICAST)
		return (struct route){.to = c->to,
			.from = c->source,
			.nexthop = {.kind = nowhere[c->type]},
			.owner = ROUTE_FILE};
	if (c->hops.n > 0) // their group: build_route_groups()
		return (struct route){.to = c->to,
			.from = c->source,
			.skip = c->down == CONF_DOWN_SKIP,
			.nexthop = {.kind = NEXTHOP_SEVERAL},
			.owner = ROUTE_FILE};
	return (struct route){.to = c->to,
		.from = c->source,
		.skip = c->down == CONF_DOWN_SKIP,
		.nexthop = next_hop(s, conf, c, conf_route_hops(c, &one, &n)),
		.owner = ROUTE_FILE};
}

static int group_take(struct nexthop *nh, const struct snapshot *s, const struct conf *conf,
	const struct conf_route *c)
{
	struct hop hop[CONF_HOPS_MAX];

	for (unsigned int i = 0; i < c->hops.n; i++)
		hop[i] = (struct hop){.nexthop = next_hop(s, conf, c, &c->hops.hop[i]),
			.weight = c->hops.hop[i].weight};
	return nexthop_take(nh, route_table_groups(s->routes), hop, c->hops.n);
}

bool build_route_groups(struct snapshot *s, const struct conf *conf)
{
	bool done = true;

	for (unsigned int i = 0; i < conf->n_routes && done; i++)
		if (conf->routes[i].hops.n > 0)
			done = group_take(&s->control->routes[NEVER + i].nexthop, s, conf,
				       &conf->routes[i]) == 0;
	return done;
}

void build_route_groups_release(struct snapshot *s, const struct conf *conf)
{
	for (unsigned int i = 0; i < conf->n_routes; i++)
		nexthop_release(
			&s->control->routes[NEVER + i].nexthop, route_table_groups(s->routes));
}

// Of a tunnel of IKE without an SA.
static bool is_standby(const struct snapshot *s, const struct nexthop *hop)
{
	const struct spd_policy *tunnel =
		hop->kind == NEXTHOP_TUNNEL ? snapshot_tunnel(s, hop) : NULL;

	return tunnel != NULL && tunnel->out == NULL && objects_are_standby(s->objects);
}

static bool is_up(const void *snapshot, const struct nexthop *nexthop)
{
	const struct nexthop *hop;

	for (unsigned int i = nexthop_first_place(nexthop); (hop = nexthop_hop(nexthop, i)) != NULL;
		i++)
		if (hop_is_up(snapshot, hop) || is_standby(snapshot, hop))
			return true;
	return false;
}

void build_routes_skip(const struct snapshot *s)
{
	route_table_skip(s->routes, is_up, s);
}

bool build_routes(struct snapshot *s, const struct conf *conf)
{
	unsigned int max = NEVER + conf->n_routes + conf->n_ports * CONF_GUESTS_MAX +
			   (conf->n_ports + conf->n_tunnels) * CONF_ADDRS_MAX * PER_ADDR_MAX;
	struct route *r = calloc(max, sizeof(*r));
	unsigned int n = 0;
	struct nets nets;

	s->control->routes = r;
	if (r == NULL || !nets_list(&nets, conf))
		return false;
	n += add_never(r);
	for (unsigned int i = 0; i < conf->n_routes; i++)
		r[n++] = configured(s, conf, &conf->routes[i]);
	// Among equal ones the last counts: an address of the configuration replaces the same
	// address of a host.
	for (unsigned int i = 0; i < conf->n_ports; i++)
		n += add_guests(r + n, &conf->ports[i].guests, (uint16_t)i);
	n += add_networks(r + n, &nets, s, conf);
	free(nets.net);
	for (unsigned int i = 0; i < conf->n_ports + conf->n_tunnels; i++)
		n += add_own(r + n, s, conf, i);
	s->control->n_routes = n;
	return true;
}
