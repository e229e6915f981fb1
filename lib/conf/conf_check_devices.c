// SPDX-License-Identifier: BSD-3-Clause
// The devices of ports and of their members: that none is used twice.
#include <string.h>
#include <strings.h>

#include "conf_check.h"

// A device as a port has it, alone or as a member.
struct device {
	unsigned int port;
	const char *name;
	config_setting_t *s;
};

struct devices {
	struct device *d;
	unsigned int n;
};

// A part of a text.
struct span {
	const char *at; // NULL: there is none
	size_t len;
};

// The device itself, without arguments behind the comma, but with that of a representor; a PCI
// address also without bus and domain.
static struct span device_start(const char *device)
{
	if (strncmp(device, "pci:", 4) == 0)
		device += 4;
	if (strncmp(device, "0000:", 5) == 0)
		device += 5;
	return (struct span){
		device, conf_device_is_representor(device) ? strlen(device) : strcspn(device, ",")};
}

// The interface of the kernel in the arguments (net_af_packet, net_tap, net_pcap).
static struct span device_iface(const char *device)
{
	const char *arg = strstr(device, ",iface=");

	return arg != NULL ? (struct span){arg + 7, strcspn(arg + 7, ",")} : (struct span){NULL, 0};
}

static bool is_equal(struct span a, struct span b)
{
	return a.at != NULL && b.at != NULL && a.len == b.len &&
	       strncasecmp(a.at, b.at, a.len) == 0;
}

// The first device before this one that has the same part; NULL: none.
static const struct device *find_equal(
	const struct devices *all, unsigned int i, struct span (*part)(const char *device))
{
	for (unsigned int k = 0; k < i; k++)
		if (is_equal(part(all->d[k].name), part(all->d[i].name)))
			return &all->d[k];
	return NULL;
}

static void check_different(struct conf_reader *r, const struct devices *all, unsigned int i)
{
	const struct device *d = &all->d[i], *same = find_equal(all, i, device_start);
	const char *what = d->s->name != NULL ? "" : conf_format("%s ", conf_quote(d->name));

	if (same != NULL)
		conf_err(r, d->s, "%sis already %s device of %s", what,
			same->s->name != NULL ? "the" : "a",
			conf_ref(conf_item(r, "ports", same->port)));
	same = find_equal(all, i, device_iface);
	if (same != NULL)
		conf_err(r, d->s, "%shas the same iface as %s", what,
			conf_ref(conf_item(r, "ports", same->port)));
}

static void check_own(struct conf_reader *r, struct devices *all, unsigned int port)
{
	config_setting_t *s = conf_given(conf_item(r, "ports", port), "device");

	if (s == NULL)
		return;
	all->d[all->n++] = (struct device){port, r->c->ports[port].device, s};
	conf_check_device(r, s, r->c->ports[port].device, port);
}

static void check_members(struct conf_reader *r, struct devices *all, unsigned int port)
{
	config_setting_t *s = conf_given(conf_item(r, "ports", port), "members");

	for (unsigned int i = 0; s != NULL && i < r->c->ports[port].n_members; i++) {
		config_setting_t *member = config_setting_get_elem(s, i);

		all->d[all->n++] = (struct device){port, r->c->ports[port].members[i], member};
		conf_check_member(r, member, r->c->ports[port].members[i], port);
	}
}

static void reject_given(
	struct conf_reader *r, unsigned int port, const char *setting, const char *why)
{
	config_setting_t *s = conf_given(conf_item(r, "ports", port), setting);

	if (s != NULL)
		conf_err(r, s, "%s", why);
}

// What goes with members, and what does not.
static void check_settings(struct conf_reader *r, unsigned int port)
{
	if (conf_member(conf_item(r, "ports", port), "members") == NULL) {
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
