// SPDX-License-Identifier: BSD-3-Clause
// Ports that the kernel shares: mistakes with them are refused.
#include "conf_check.h"

// --- next hops ---

static bool is_parent(const struct conf *c, unsigned int port)
{
	for (unsigned int i = 0; i < c->n_ports; i++)
		if (c->ports[i].vlan != 0 && c->ports[i].parent == port)
			return true;
	return false;
}

// Whether the port has a neighbour with the address, NULL: any.
static bool has_neighbour(const struct conf *c, unsigned int port, const struct ip_addr *addr)
{
	for (unsigned int i = 0; i < c->n_neighbours; i++)
		if (c->neighbours[i].port == port &&
			(addr == NULL || ip_addr_equal(&c->neighbours[i].addr, addr)))
			return true;
	return false;
}

// Setting s has the address of a station on the port's link. Returns whether its link address is
// known.
static bool check_next_hop(
	struct conf_reader *r, config_setting_t *s, unsigned int port, const struct ip_addr *addr)
{
	char buf[IP_ADDR_STRLEN];

	if (has_neighbour(r->c, port, addr))
		return true;
	conf_err(r, s,
		"%s must be in neighbours: the kernel receives ARP and neighbour discovery of %s, "
		"which is isolated",
		ip_addr_format(buf, addr), conf_ref(conf_item(r, CONF_PORT, port)));
	return false;
}

// Returns whether the link addresses of all stations that the port sends to are known.
static bool check_next_hops(struct conf_reader *r, unsigned int port)
{
	const struct conf *c = r->c;
	bool known = true;

	for (unsigned int i = 0; i < c->n_routes; i++) {
		config_setting_t *item = conf_item(r, CONF_ROUTE, i);
		struct conf_hop one;
		unsigned int n;
		const struct conf_hop *hop = conf_route_hops(&c->routes[i], &one, &n);

		for (unsigned int k = 0; k < n; k++)
			if (!ip_addr_is_none(&hop[k].via) && hop[k].port == port)
				known &= check_next_hop(r, conf_at(item, "via"), port, &hop[k].via);
	}
	for (unsigned int i = 0; i < c->n_sas; i++) {
		config_setting_t *remote = conf_given(conf_item(r, CONF_SA, i), "remote");
		const struct sa_options *o = &c->sas[i].opt;

		if (remote != NULL && o->direction == SA_OUT && !ip_addr_is_none(&o->remote) &&
			conf_link_port(c, &o->remote) == (int)port)
			known &= check_next_hop(r, remote, port, &o->remote);
	}
	return known;
}

static void check_neighbours(struct conf_reader *r, config_setting_t *isolated, unsigned int port)
{
	if (!conf_rejected(r->root, "neighbours") && check_next_hops(r, port) &&
		!has_neighbour(r->c, port, NULL))
		conf_err(r, isolated,
			"the kernel receives ARP and neighbour discovery of the port: its next "
			"hops must be in neighbours");
}

// --- UDP ports ---

// Whether there is one, or room for it.
static bool udp_port_add(uint16_t ports[CONF_ISOLATED_UDP_MAX], unsigned int *n, uint16_t port)
{
	for (unsigned int i = 0; i < *n; i++)
		if (ports[i] == port)
			return true;
	if (*n == CONF_ISOLATED_UDP_MAX)
		return false;
	ports[(*n)++] = port;
	return true;
}

static bool receives_udp(const struct conf_sa *sa)
{
	return sa->opt.in_udp && sa->opt.direction == SA_IN;
}

unsigned int conf_isolated_udp_ports(const struct conf *c, uint16_t ports[CONF_ISOLATED_UDP_MAX])
{
	unsigned int n = 0;

	udp_port_add(ports, &n, IKE_NAT_PORT);
	for (unsigned int i = 0; i < c->n_sas; i++)
		if (receives_udp(&c->sas[i]))
			udp_port_add(ports, &n, c->sas[i].opt.udp_local_port);
	return n;
}

// The first isolated port; -1: there is none.
static int isolated_port(const struct conf *c)
{
	for (unsigned int i = 0; i < c->n_ports; i++)
		if (c->ports[i].isolated)
			return (int)i;
	return -1;
}

// Where the UDP port of an inbound SA stands; NULL: it has none, or a mistake was reported.
static config_setting_t *udp_setting(const struct conf_reader *r, unsigned int sa)
{
	config_setting_t *group = conf_given(conf_item(r, CONF_SA, sa), "udp");

	if (group == NULL || !receives_udp(&r->c->sas[sa]) || conf_rejected(group, "local_port"))
		return NULL;
	return conf_at(group, "local_port");
}

static void check_udp_ports(struct conf_reader *r, unsigned int isolated)
{
	uint16_t ports[CONF_ISOLATED_UDP_MAX];
	unsigned int n = 0;

	udp_port_add(ports, &n, IKE_NAT_PORT);
	for (unsigned int i = 0; i < r->c->n_sas; i++) {
		config_setting_t *s = udp_setting(r, i);

		if (s != NULL && !udp_port_add(ports, &n, r->c->sas[i].opt.udp_local_port))
			conf_err(r, s,
				"%u would be the kernel's: %s is isolated, and %u other UDP ports "
				"come first, %u and those of SAs, must be one of these",
				r->c->sas[i].opt.udp_local_port,
				conf_ref(conf_item(r, CONF_PORT, isolated)), CONF_ISOLATED_UDP_MAX,
				IKE_NAT_PORT);
	}
}

void conf_check_isolated_restart(struct conf_reader *r, const struct conf *running)
{
	uint16_t ports[CONF_ISOLATED_UDP_MAX];
	unsigned int n = conf_isolated_udp_ports(running, ports);
	int isolated = isolated_port(running);

	for (unsigned int i = 0; isolated >= 0 && i < r->c->n_sas; i++) {
		config_setting_t *s = udp_setting(r, i);
		uint16_t port = r->c->sas[i].opt.udp_local_port;
		unsigned int k = 0;

		while (k < n && ports[k] != port)
			k++;
		if (s != NULL && k == n)
			conf_err(r, s,
				"%u is the kernel's: port %s is isolated, and no SA of the running "
				"configuration has that UDP port, needs a restart",
				port, conf_quote(running->ports[isolated].name));
	}
}

void conf_check_isolated(struct conf_reader *r)
{
	const struct conf *c = r->c;

	for (unsigned int i = 0; i < c->n_ports; i++) {
		config_setting_t *s = conf_given(conf_item(r, CONF_PORT, i), "isolated");

		if (!c->ports[i].isolated || s == NULL)
			continue;
		if (is_parent(c, i))
			conf_err(r, s, "a port with VLANs cannot be shared with the kernel");
		else if (!c->ports[i].unprotected && !conf_rejected(r->root, "sas"))
			conf_err(r, s,
				"is for unprotected ports: here, packets that no rule takes would "
				"pass the kernel instead of a tunnel");
		else
			check_neighbours(r, s, i);
	}
	if (isolated_port(c) >= 0)
		check_udp_ports(r, (unsigned int)isolated_port(c));
}
