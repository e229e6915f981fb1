// SPDX-License-Identifier: BSD-3-Clause
#include "host_iface.h"

#define LINK_LOCAL 64 // bits of prefix

static struct host_iface of_port(const struct conf_port *c)
{
	return (struct host_iface){.where = c->where,
		.kind = "port",
		.owner = c->name,
		.name = c->host,
		.asks = c->follows_host,
		.mtu = c->mtu};
}

static struct host_iface of_tunnel(const struct conf_tunnel *c)
{
	return (struct host_iface){.where = c->where,
		.kind = "tunnel",
		.owner = c->name,
		.name = c->host,
		.is_tunnel = true};
}

static void addr_add(struct host_iface *i, const struct ip_addr *addr,
	const struct conf_iface_addr *conf, unsigned int n)
{
	uint8_t len = LINK_LOCAL; // of the one that the gateway has chosen

	for (unsigned int a = 0; a < n; a++)
		if (ip_addr_equal(&conf[a].addr, addr))
			len = (uint8_t)(conf[a].net.len - (ip_addr_is_v4(addr) ? IP_V4_BITS : 0));
	i->addr[i->n] = *addr;
	i->len[i->n++] = len;
	i->has_ipv6 |= !ip_addr_is_v4(addr);
}

// The addresses of a port, except its guests and the addresses that it has from its host: the
// kernel has them already.
static struct host_iface port_wanted(const struct conf_port *c, const struct snapshot_port *p)
{
	struct host_iface wanted = of_port(c);

	wanted.mac = p->mac;
	for (unsigned int a = c->follows_host ? c->n_addrs : 0;
		wanted.name != NULL && a < p->n_addrs - c->guests.n; a++)
		addr_add(&wanted, &p->addrs[a], c->addrs, c->n_addrs);
	return wanted;
}

static struct host_iface tunnel_wanted(
	const struct conf *conf, const struct snapshot *s, const struct nexthop *into)
{
	const struct spd_policy *p = snapshot_tunnel(s, into);
	const struct conf_tunnel *c =
		&conf->tunnels[spd_place(s->spd, p) - spd_count_policies(s->spd)];
	const struct iface *iface = &s->iface[into->iface];
	struct host_iface wanted = of_tunnel(c);

	for (unsigned int a = 0; a < iface->n_addrs; a++)
		addr_add(&wanted, &iface->addrs[a], c->addrs, c->n_addrs);
	wanted.mtu = p->out != NULL ? sa_out_path(p->out)->mtu : 0;
	wanted.is_down = objects_out(s->objects, p->number) == NULL;
	return wanted;
}

struct host_iface host_iface_of(const struct conf *conf, unsigned int i)
{
	return i < conf->n_ports ? of_port(&conf->ports[i])
				 : of_tunnel(&conf->tunnels[i - conf->n_ports]);
}

// A routing daemon takes the network of each address for connected: FRR would not announce a route
// to an address that is a network of its own.
static void widen_announced(const struct conf *conf, struct host_iface *i)
{
	for (unsigned int a = 0; a < i->n && conf->announce_metric != 0; a++)
		if (i->len[a] == (ip_addr_is_v4(&i->addr[a]) ? 32 : 128) &&
			conf_group_of(conf, &i->addr[a]) != NULL)
			i->len[a]--;
}

struct host_iface host_iface_wanted(
	const struct conf *conf, const struct snapshot *s, unsigned int host)
{
	struct host_iface wanted = {0};

	if (host < conf->n_ports)
		wanted = port_wanted(&conf->ports[host], &s->port[host]);
	else if (s->iface[IFACE_HOST(host)].only != NULL)
		wanted = tunnel_wanted(conf, s, s->iface[IFACE_HOST(host)].only);
	widen_announced(conf, &wanted);
	wanted.since = s->host_since[host];
	return wanted;
}
