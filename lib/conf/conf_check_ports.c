// SPDX-License-Identifier: BSD-3-Clause
// Ports: their addresses, hosts and devices, the members that share the work of one, and the VLANs
// (IEEE 802.1Q) of another port's device.
#include <string.h>
#include <strings.h>

#include "conf_check.h"
#include "conf_schema.h"

#define IPV6_MTU_MIN 1280u

static config_setting_t *given(const struct conf_reader *r, unsigned int port, const char *setting)
{
	return conf_given(conf_item(r, CONF_PORT, port), setting);
}

// Whether the setting is there, rejected or not.
static bool is_written(const struct conf_reader *r, unsigned int port, const char *setting)
{
	return conf_member(conf_item(r, CONF_PORT, port), setting) != NULL;
}

static void reject_given(
	struct conf_reader *r, unsigned int port, const char *setting, const char *why)
{
	conf_refuse_given(r, conf_item(r, CONF_PORT, port), setting, why);
}

static const char *port_ref(const struct conf_reader *r, unsigned int port)
{
	return conf_ref(conf_item(r, CONF_PORT, port));
}

// --- VLANs ---

// Facts about parents, known once every port was checked.
struct parents {
	bool complete;               // every setting parent names a port
	bool is[CONF_PORTS_MAX];     // of another one
	bool usable[CONF_PORTS_MAX]; // by port: that its parent was found and has a device
};

static void find_parent(struct conf_reader *r, unsigned int port, const struct conf_names *names,
	struct parents *parents)
{
	config_setting_t *s = given(r, port, "parent");
	const char *name = r->c->ports[port].parent_name;
	int found = s != NULL ? conf_names_find(names, name) : -1;

	if (found < 0) {
		parents->complete = false;
		if (s != NULL)
			conf_names_reject(r, s, (const struct conf_names *[]){names, NULL}, name);
		return;
	}
	parents->is[found] = true;
	r->c->ports[port].parent = (unsigned int)found;
	if (is_written(r, (unsigned int)found, "parent"))
		conf_err(r, s, "%s is a VLAN itself, must be a port with a device",
			port_ref(r, (unsigned int)found));
	else
		parents->usable[port] = true;
}

static void check_vlan_settings(struct conf_reader *r, unsigned int port)
{
	if (!is_written(r, port, "parent")) {
		if (!is_written(r, port, "members") && !is_written(r, port, "device"))
			conf_err(r, conf_item(r, CONF_PORT, port),
				"device is missing: needs device, members, or parent and vlan");
		reject_given(r, port, "vlan", "is for a port with a parent only");
		return;
	}
	conf_require(r, CONF_PORT, conf_item(r, CONF_PORT, port), "vlan");
	reject_given(r, port, "device", "a port with a parent has no device of its own");
	reject_given(r, port, "members", "a port with a parent has no device of its own");
	reject_given(r, port, "rx_queues", "a VLAN has the queues of its parent");
	reject_given(r, port, "steer", "a VLAN has the queues of its parent");
	reject_given(r, port, "isolated", "a VLAN has the device of its parent");
	reject_given(r, port, "tso", "a VLAN has the device of its parent");
	reject_given(r, port, "mac", "a VLAN has the link address of its parent");
}

static int compare_vlans(const struct conf *c, unsigned int a, unsigned int b)
{
	const struct conf_port *x = &c->ports[a], *y = &c->ports[b];

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	return x->vlan - y->vlan;
}

static void check_vlans_different(struct conf_reader *r, const struct parents *parents)
{
	struct conf_set set = {.index = conf_alloc(r->c->n_ports, sizeof(set.index[0]))};

	for (unsigned int i = 0; i < r->c->n_ports; i++)
		if (parents->usable[i] && given(r, i, "vlan") != NULL)
			set.index[set.n++] = i;
	conf_reject_equal(
		r, CONF_PORT, &set, compare_vlans, "vlan", "is already used, with this parent, by");
}

static void complete_mtu(struct conf_reader *r, unsigned int port)
{
	struct conf_port *p = &r->c->ports[port];
	const struct conf_port *parent = &r->c->ports[p->parent];

	if (given(r, port, "mtu") == NULL)
		p->mtu = parent->mtu;
	else if (p->mtu > parent->mtu && !conf_rejected(conf_item(r, CONF_PORT, p->parent), "mtu"))
		conf_err(r, conf_member(conf_item(r, CONF_PORT, port), "mtu"),
			"%u is more than the mtu of %s, must be at most %u", p->mtu,
			port_ref(r, p->parent), parent->mtu);
}

// Finds the parents of the ports that are VLANs, refuses settings that these must not have, and
// sets the mtu of those without one. Ports without an address, which only parents may be, are
// refused. Returns whether all addresses of ports are known.
static bool check_vlans(struct conf_reader *r)
{
	const struct conf_names names = conf_names_sort(r, CONF_PORT);
	struct parents parents = {.complete = true};
	bool nets_known = true;

	for (unsigned int i = 0; i < r->c->n_ports; i++) {
		check_vlan_settings(r, i);
		if (is_written(r, i, "parent"))
			find_parent(r, i, &names, &parents);
	}
	check_vlans_different(r, &parents);
	for (unsigned int i = 0; i < r->c->n_ports; i++) {
		if (parents.usable[i])
			complete_mtu(r, i);
		if (parents.complete && !parents.is[i])
			conf_require(r, CONF_PORT, conf_item(r, CONF_PORT, i), "addresses");
		nets_known =
			nets_known && (given(r, i, "addresses") != NULL ||
					      (parents.is[i] && !is_written(r, i, "addresses")));
	}
	return nets_known;
}

// --- devices ---

// A device as a port has it, alone or as a member.
struct device {
	unsigned int port;
	const char *name;
	const char *id;    // the device itself: see device_id()
	const char *iface; // of the kernel, in its arguments (net_af_packet, net_tap); NULL: none
	config_setting_t *s;
};

struct devices {
	struct device *d;
	unsigned int n;
};

// The device itself, without arguments after the comma, but with that of a representor; a PCI
// address as sysfs has it.
static const char *device_id(const char *device)
{
	const char *arguments = device + strcspn(device, ",");
	char name[CONF_PCI_NAME_MAX];

	if (!conf_device_is_representor(device))
		arguments = "";
	return conf_device_pci(name, device)
		       ? conf_format("%s%s", name, arguments)
		       : conf_format("%.*s%s", (int)strcspn(device, ","), device, arguments);
}

static const char *device_iface(const char *device)
{
	const char *arg = strstr(device, ",iface=");

	return arg != NULL ? conf_format("%.*s", (int)strcspn(arg + 7, ","), arg + 7) : NULL;
}

static void device_add(
	struct devices *all, unsigned int port, const char *name, config_setting_t *s)
{
	all->d[all->n++] = (struct device){port, name, device_id(name), device_iface(name), s};
}

bool conf_devices_are_equal(const char *a, const char *b)
{
	const char *iface = device_iface(a), *other = device_iface(b);

	return strcasecmp(device_id(a), device_id(b)) == 0 ||
	       (iface != NULL && conf_texts_equal(iface, other));
}

static const char *id_of(const struct device *d)
{
	return d->id;
}

static const char *iface_of(const struct device *d)
{
	return d->iface;
}

// The first device before this one that has the same part; NULL: none.
static const struct device *find_equal(
	const struct devices *all, unsigned int i, const char *(*part)(const struct device *d))
{
	const char *own = part(&all->d[i]);

	for (unsigned int k = 0; own != NULL && k < i; k++) {
		const char *other = part(&all->d[k]);

		if (other != NULL && strcasecmp(other, own) == 0)
			return &all->d[k];
	}
	return NULL;
}

static void check_different(struct conf_reader *r, const struct devices *all, unsigned int i)
{
	const struct device *d = &all->d[i], *same = find_equal(all, i, id_of);
	const char *what = d->s->name != NULL ? "" : conf_format("%s ", conf_quote(d->name));

	if (same != NULL)
		conf_err(r, d->s, "%sis already %s device of %s", what,
			same->s->name != NULL ? "the" : "a", port_ref(r, same->port));
	same = find_equal(all, i, iface_of);
	if (same != NULL)
		conf_err(r, d->s, "%shas the same iface as %s", what, port_ref(r, same->port));
}

// The gateway creates the interface of a host, so a device must not use the same name.
static void check_host(struct conf_reader *r, const struct devices *all, unsigned int port)
{
	config_setting_t *s = given(r, port, "host");

	for (unsigned int i = 0; s != NULL && i < all->n; i++) {
		const char *host = r->c->ports[port].host;

		if (!conf_texts_equal(host, all->d[i].iface))
			continue;
		conf_err(r, s,
			"%s is the iface of a device of %s, must be a name that no interface has",
			conf_quote(host), port_ref(r, all->d[i].port));
		return;
	}
}

static void check_own(struct conf_reader *r, struct devices *all, unsigned int port)
{
	config_setting_t *s = given(r, port, "device");

	if (s == NULL)
		return;
	device_add(all, port, r->c->ports[port].device, s);
	conf_check_device(r, s, r->c->ports[port].device, port);
}

static void check_members(struct conf_reader *r, struct devices *all, unsigned int port)
{
	config_setting_t *s = given(r, port, "members");

	for (unsigned int i = 0; s != NULL && i < r->c->ports[port].n_members; i++) {
		config_setting_t *member = config_setting_get_elem(s, i);

		device_add(all, port, r->c->ports[port].members[i], member);
		conf_check_member(r, member, r->c->ports[port].members[i], port);
	}
}

// Settings that members need, and settings that exclude them.
static void check_member_settings(struct conf_reader *r, unsigned int port)
{
	if (!is_written(r, port, "members")) {
		reject_given(r, port, "bond", "is for a port with members only");
		return;
	}
	reject_given(r, port, "device", "a port with members has no device of its own");
	reject_given(r, port, "steer", "a port with members gets no rules of cards");
	reject_given(r, port, "isolated", "a port with members cannot be shared with the kernel");
	reject_given(r, port, "tso", "no member is the port of a virtual machine");
}

static void check_devices(struct conf_reader *r)
{
	const unsigned int max = r->c->n_ports * (CONF_MEMBERS_MAX + 1);
	struct devices all = {.d = conf_alloc(max, sizeof(all.d[0]))};

	for (unsigned int i = 0; i < r->c->n_ports; i++) {
		check_own(r, &all, i);
		check_members(r, &all, i);
		check_member_settings(r, i);
	}
	for (unsigned int i = 0; i < all.n; i++)
		check_different(r, &all, i);
	for (unsigned int i = 0; i < r->c->n_ports; i++)
		check_host(r, &all, i);
}

// --- hosts and addresses ---

static bool is_of_host(const struct conf_iface_addr *a)
{
	return conf_equal_interface(a, &conf_address_of_host);
}

// The addresses of a port, as far as the file has them.
static void take_addresses(struct conf_port *p)
{
	for (unsigned int i = 0; i < p->n_written; i++)
		p->follows_host |= is_of_host(&p->written[i]);
	if (p->follows_host)
		return;
	memcpy(p->addrs, p->written, sizeof(p->addrs));
	p->n_addrs = p->n_written;
}

// Addresses would show the side, and those of a host are not known.
static void check_follows(struct conf_reader *r, unsigned int port)
{
	const struct conf_port *p = &r->c->ports[port];
	config_setting_t *s = given(r, port, "addresses");

	if (!p->follows_host || s == NULL)
		return;
	if (p->n_written > 1)
		conf_err(r, s, "\"host\" stands for all addresses of the port, must be alone");
	if (!is_written(r, port, "host"))
		conf_err(r, s,
			"\"host\" needs the setting host: the interface whose addresses they are");
	if (!is_written(r, port, "side"))
		conf_err(r, s, "\"host\" needs the setting side: no address shows it");
}

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
	const char *old = port_ref(r, old_port);
	char buf[IP_PREFIX_STRLEN];

	if (ip_addr_is_none(&x->addr) || ip_addr_is_none(&y->addr))
		return false;
	// Every link has the same link-local network.
	if (port != old_port && ip_addr_is_link_local(&y->addr))
		return false;
	if (ip_addr_equal(&x->addr, &y->addr))
		conf_err(
			r, s, "%s is already an address of %s", ip_addr_format(buf, &y->addr), old);
	else if (port != old_port && conf_equal_prefix(&x->net, &y->net))
		conf_err(r, s, "network %s is that of %s", ip_prefix_format(buf, &y->net), old);
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
	for (unsigned int i = 0; i < c->n_ports + c->n_tunnels; i++)
		if (conf_host(c, i) != NULL)
			return true;
	return false;
}

void conf_check_ports(struct conf_reader *r)
{
	struct conf *c = r->c;

	for (unsigned int i = 0; i < c->n_ports; i++) {
		c->ports[i].mac_set = given(r, i, "mac") != NULL;
		take_addresses(&c->ports[i]);
		check_follows(r, i);
	}
	r->nets_known = check_vlans(r) && conf_given(r->root, "ports") != NULL;
	conf_check_names(r, CONF_PORT);
	check_devices(r);
	check_hosts(r);
	for (unsigned int p = 0; p < c->n_ports; p++) {
		for (unsigned int i = 0; i < c->ports[p].n_addrs; i++)
			check_address(r, p, i);
		check_mtu(r, p);
	}
}

void conf_devices_list(struct conf *c)
{
	c->devices = conf_alloc(c->n_ports * CONF_MEMBERS_MAX, sizeof(c->devices[0]));
	for (unsigned int i = 0; i < c->n_ports; i++) {
		struct conf_port *p = &c->ports[i];

		if (p->n_members > 0)
			p->device = conf_format("net_bonding_%s", p->name);
		p->devices = c->n_devices;
		for (unsigned int k = 0; k < conf_port_n_devices(p); k++) {
			struct conf_port *d = &c->devices[c->n_devices++];

			*d = *p;
			d->n_members = 0;
			if (p->n_members > 0)
				d->device = p->members[k];
		}
	}
}
