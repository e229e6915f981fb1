// SPDX-License-Identifier: BSD-3-Clause
#include <string.h>

#include "conf_check.h"

#define IPV6_MTU_MIN 1280u

static int compare_hosts(const struct conf *c, unsigned int a, unsigned int b)
{
	return strcmp(c->ports[a].host, c->ports[b].host);
}

// The parent of VLANs without addresses has no packets for the host.
static void check_hosts(struct conf_reader *r)
{
	struct conf_set hosts = conf_set_given(r, CONF_PORT, (const char *[]){"host", NULL});

	for (unsigned int i = 0; i < hosts.n; i++) {
		config_setting_t *item = conf_item(r, CONF_PORT, hosts.index[i]);
		config_setting_t *host = conf_given(item, "host");

		if (conf_given(item, "addresses") == NULL)
			conf_err(r, host,
				"needs addresses: those of the port are the host's as well");
		else if (r->c->ports[hosts.index[i]].isolated)
			conf_err(r, host,
				"the kernel has all but ESP of a port with isolated already: leave "
				"one of them out");
	}
	conf_reject_equal(r, CONF_PORT, &hosts, compare_hosts, "host", "is already the host of");
}

// Whether they conflict, which is reported.
static bool check_address_pair(struct conf_reader *r, unsigned int old_port, unsigned int old_addr,
	unsigned int port, unsigned int addr)
{
	const struct conf_iface_addr *x = &r->c->ports[old_port].addrs[old_addr];
	const struct conf_iface_addr *y = &r->c->ports[port].addrs[addr];
	config_setting_t *s = conf_at(conf_item(r, CONF_PORT, port), "addresses");
	const char *old = conf_ref(conf_item(r, CONF_PORT, old_port));
	char a[IP_PREFIX_STRLEN], b[IP_PREFIX_STRLEN];

	if (ip_addr_is_none(&x->addr) || ip_addr_is_none(&y->addr))
		return false;
	// Every link has the same link-local network.
	if (port != old_port && ip_addr_is_link_local(&y->addr))
		return false;
	if (ip_addr_equal(&x->addr, &y->addr))
		conf_err(r, s, "%s is already an address of %s", ip_addr_format(a, &y->addr), old);
	else if (port != old_port && ip_prefix_overlaps(&x->net, &y->net))
		conf_err(r, s, "network %s overlaps with %s of %s", ip_prefix_format(a, &y->net),
			ip_prefix_format(b, &x->net), old);
	else
		return false;
	return true;
}

// Compares an address with those before it up to the first conflict.
static void check_address(struct conf_reader *r, unsigned int port, unsigned int addr)
{
	const struct conf_port *ports = r->c->ports;

	for (unsigned int p = 0; p <= port; p++)
		for (unsigned int i = 0; i < (p < port ? ports[p].n_addrs : addr); i++)
			if (check_address_pair(r, p, i, port, addr))
				return;
}

// RFC 8200 5: no link of IPv6 has less.
static void check_mtu(struct conf_reader *r, unsigned int port)
{
	const struct conf_port *p = &r->c->ports[port];
	config_setting_t *item = conf_item(r, CONF_PORT, port), *mtu = conf_given(item, "mtu");
	bool v6 = false;

	for (unsigned int i = 0; i < p->n_addrs; i++)
		v6 |= !ip_addr_is_none(&p->addrs[i].addr) && !ip_addr_is_v4(&p->addrs[i].addr);
	if (!v6 || p->mtu >= IPV6_MTU_MIN)
		return;
	if (mtu != NULL)
		conf_err(r, mtu, "%u is too small for IPv6, must be at least %u", p->mtu,
			IPV6_MTU_MIN);
	else
		conf_err(r, conf_member(conf_item(r, CONF_PORT, p->parent), "mtu"),
			"%u is also that of %s, and too small for IPv6, must be at least %u",
			p->mtu, conf_ref(item), IPV6_MTU_MIN);
}

bool conf_has_host(const struct conf *c)
{
	for (unsigned int i = 0; i < c->n_ports; i++)
		if (c->ports[i].host != NULL)
			return true;
	return false;
}

void conf_check_ports(struct conf_reader *r)
{
	struct conf *c = r->c;

	for (unsigned int i = 0; i < c->n_ports; i++)
		c->ports[i].mac_set = conf_given(conf_item(r, CONF_PORT, i), "mac") != NULL;
	r->nets_known = conf_check_vlans(r) && conf_given(r->root, "ports") != NULL;
	conf_check_names(r, CONF_PORT);
	conf_check_devices(r);
	check_hosts(r);
	for (unsigned int p = 0; p < c->n_ports; p++) {
		for (unsigned int i = 0; i < c->ports[p].n_addrs; i++)
			check_address(r, p, i);
		check_mtu(r, p);
	}
}
