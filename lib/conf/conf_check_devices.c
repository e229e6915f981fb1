// SPDX-License-Identifier: BSD-3-Clause
// The devices of ports and of their members: that none is used twice, nor its interface for a host.
#include <string.h>
#include <strings.h>

#include "conf_check.h"

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

// The device itself, without arguments behind the comma, but with that of a representor; a PCI
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
			same->s->name != NULL ? "the" : "a",
			conf_ref(conf_item(r, CONF_PORT, same->port)));
	same = find_equal(all, i, iface_of);
	if (same != NULL)
		conf_err(r, d->s, "%shas the same iface as %s", what,
			conf_ref(conf_item(r, CONF_PORT, same->port)));
}

// The gateway creates the interface of a host, so a device must not use the same name.
static void check_host(struct conf_reader *r, const struct devices *all, unsigned int port)
{
	config_setting_t *s = conf_given(conf_item(r, CONF_PORT, port), "host");

	for (unsigned int i = 0; s != NULL && i < all->n; i++) {
		const char *host = r->c->ports[port].host;

		if (!conf_texts_equal(host, all->d[i].iface))
			continue;
		conf_err(r, s,
			"%s is the iface of a device of %s, must be a name that no interface has",
			conf_quote(host), conf_ref(conf_item(r, CONF_PORT, all->d[i].port)));
		return;
	}
}

static void check_own(struct conf_reader *r, struct devices *all, unsigned int port)
{
	config_setting_t *s = conf_given(conf_item(r, CONF_PORT, port), "device");

	if (s == NULL)
		return;
	device_add(all, port, r->c->ports[port].device, s);
	conf_check_device(r, s, r->c->ports[port].device, port);
}

static void check_members(struct conf_reader *r, struct devices *all, unsigned int port)
{
	config_setting_t *s = conf_given(conf_item(r, CONF_PORT, port), "members");

	for (unsigned int i = 0; s != NULL && i < r->c->ports[port].n_members; i++) {
		config_setting_t *member = config_setting_get_elem(s, i);

		device_add(all, port, r->c->ports[port].members[i], member);
		conf_check_member(r, member, r->c->ports[port].members[i], port);
	}
}

static void reject_given(
	struct conf_reader *r, unsigned int port, const char *setting, const char *why)
{
	config_setting_t *s = conf_given(conf_item(r, CONF_PORT, port), setting);

	if (s != NULL)
		conf_err(r, s, "%s", why);
}

// What goes with members, and what does not.
static void check_settings(struct conf_reader *r, unsigned int port)
{
	if (conf_member(conf_item(r, CONF_PORT, port), "members") == NULL) {
		reject_given(r, port, "bond", "is for a port with members only");
		return;
	}
	reject_given(r, port, "device", "a port with members has no device of its own");
	reject_given(r, port, "steer", "a port with members gets no rules of cards");
	reject_given(r, port, "isolated", "a port with members cannot be shared with the kernel");
}

void conf_check_devices(struct conf_reader *r)
{
	const unsigned int max = r->c->n_ports * (CONF_MEMBERS_MAX + 1);
	struct devices all = {.d = conf_alloc(max, sizeof(all.d[0]))};

	for (unsigned int i = 0; i < r->c->n_ports; i++) {
		check_own(r, &all, i);
		check_members(r, &all, i);
		check_settings(r, i);
	}
	for (unsigned int i = 0; i < all.n; i++)
		check_different(r, &all, i);
	for (unsigned int i = 0; i < r->c->n_ports; i++)
		check_host(r, &all, i);
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
