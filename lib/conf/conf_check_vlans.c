// SPDX-License-Identifier: BSD-3-Clause
// Ports that are VLANs (IEEE 802.1Q) of another port's device.
#include "conf_check.h"

// What is known about parents once every port was looked at.
struct parents {
	bool complete;               // every setting parent names a port
	bool is[CONF_PORTS_MAX];     // of another one
	bool usable[CONF_PORTS_MAX]; // by port: that its parent was found and has a device
};

static bool has(const struct conf_reader *r, unsigned int port, const char *setting)
{
	return conf_given(conf_item(r, CONF_PORT, port), setting) != NULL;
}

static bool has_or_had(const struct conf_reader *r, unsigned int port, const char *setting)
{
	return has(r, port, setting) || conf_rejected(conf_item(r, CONF_PORT, port), setting);
}

static void reject_missing(struct conf_reader *r, unsigned int port, const char *setting)
{
	const struct conf_option *options = conf_kinds[CONF_PORT].options;

	if (!has_or_had(r, port, setting))
		conf_reject_missing(
			r, conf_item(r, CONF_PORT, port), conf_option_find(options, setting));
}

static void reject_given(
	struct conf_reader *r, unsigned int port, const char *setting, const char *why)
{
	config_setting_t *s = conf_given(conf_item(r, CONF_PORT, port), setting);

	if (s != NULL)
		conf_err(r, s, "%s", why);
}

static void find_parent(struct conf_reader *r, unsigned int port, const struct conf_names *names,
	struct parents *parents)
{
	config_setting_t *s = conf_given(conf_item(r, CONF_PORT, port), "parent");
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
	if (has_or_had(r, (unsigned int)found, "parent"))
		conf_err(r, s, "%s is a VLAN itself, must be a port with a device",
			conf_ref(conf_item(r, CONF_PORT, (unsigned int)found)));
	else
		parents->usable[port] = true;
}

static void check_settings(struct conf_reader *r, unsigned int port)
{
	if (!has_or_had(r, port, "parent")) {
		if (!has_or_had(r, port, "members") && !has_or_had(r, port, "device"))
			conf_err(r, conf_item(r, CONF_PORT, port),
				"device is missing: needs device, members, or parent and vlan");
		reject_given(r, port, "vlan", "is for a port with a parent only");
		return;
	}
	reject_missing(r, port, "vlan");
	reject_given(r, port, "device", "a port with a parent has no device of its own");
	reject_given(r, port, "members", "a port with a parent has no device of its own");
	reject_given(r, port, "rx_queues", "a VLAN has the queues of its parent");
	reject_given(r, port, "steer", "a VLAN has the queues of its parent");
	reject_given(r, port, "isolated", "a VLAN has the device of its parent");
	reject_given(r, port, "mac", "a VLAN has the link address of its parent");
}

static int compare_vlans(const struct conf *c, unsigned int a, unsigned int b)
{
	const struct conf_port *x = &c->ports[a], *y = &c->ports[b];

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	return x->vlan - y->vlan;
}

static void check_different(struct conf_reader *r, const struct parents *parents)
{
	struct conf_set set = {.index = conf_alloc(r->c->n_ports, sizeof(set.index[0]))};

	for (unsigned int i = 0; i < r->c->n_ports; i++)
		if (parents->usable[i] && has(r, i, "vlan"))
			set.index[set.n++] = i;
	conf_reject_equal(
		r, CONF_PORT, &set, compare_vlans, "vlan", "is already used, with this parent, by");
}

static void complete_mtu(struct conf_reader *r, unsigned int port)
{
	struct conf_port *p = &r->c->ports[port];
	const struct conf_port *parent = &r->c->ports[p->parent];

	if (!has(r, port, "mtu"))
		p->mtu = parent->mtu;
	else if (p->mtu > parent->mtu && !conf_rejected(conf_item(r, CONF_PORT, p->parent), "mtu"))
		conf_err(r, conf_member(conf_item(r, CONF_PORT, port), "mtu"),
			"%u is more than the mtu of %s, must be at most %u", p->mtu,
			conf_ref(conf_item(r, CONF_PORT, p->parent)), parent->mtu);
}

bool conf_check_vlans(struct conf_reader *r)
{
	const struct conf_names names = conf_names_sort(r, CONF_PORT);
	struct parents parents = {.complete = true};
	bool nets_known = true;

	for (unsigned int i = 0; i < r->c->n_ports; i++) {
		check_settings(r, i);
		if (has_or_had(r, i, "parent"))
			find_parent(r, i, &names, &parents);
	}
	check_different(r, &parents);
	for (unsigned int i = 0; i < r->c->n_ports; i++) {
		if (parents.usable[i])
			complete_mtu(r, i);
		if (parents.complete && !parents.is[i])
			reject_missing(r, i, "addresses");
		nets_known =
			nets_known && (has(r, i, "addresses") ||
					      (parents.is[i] && !has_or_had(r, i, "addresses")));
	}
	return nets_known;
}
