// SPDX-License-Identifier: BSD-3-Clause
// Numbers of ports. Packets, flows and tables refer to a port by its number, so a port keeps it as
// long as configurations that replace each other have it, wherever it stands in the file.
#include <string.h>

#include "conf_check.h"

const struct conf_port *conf_port_named(const struct conf *c, const char *name)
{
	for (unsigned int i = 0; i < c->n_ports && name[0] != '\0'; i++)
		if (strcmp(c->ports[i].name, name) == 0)
			return &c->ports[i];
	return NULL;
}

// A VLAN with another tag, parent, MTU or host is another port, which needs another number.
static bool is_same(const struct conf_port *p, const struct conf_port *was)
{
	return p->vlan == was->vlan &&
	       (p->vlan == 0 ||
		       (strcmp(p->parent_name, was->parent_name) == 0 && p->mtu == was->mtu &&
			       conf_texts_equal(p->host, was->host)));
}

static void number_choose(struct conf_reader *r, unsigned int number[], unsigned int port,
	const struct conf *running, uint32_t *used)
{
	const struct conf_port *p = &r->c->ports[port];
	const struct conf_port *was = conf_port_named(running, p->name);
	unsigned int n = 0;

	if (was != NULL && is_same(p, was)) {
		number[port] = (unsigned int)(was - running->ports);
		return;
	}
	while ((*used >> n & 1) != 0)
		n++;
	number[port] = n % CONF_PORTS_MAX;
	*used |= UINT32_C(1) << number[port];
	if (n == CONF_PORTS_MAX)
		conf_err(r, conf_item(r, CONF_PORT, port),
			"no number is free for it: those of ports that were removed are free "
			"within %u seconds",
			CONF_PORT_LEAVES_S);
}

static void number_set(unsigned int *port, const unsigned int number[])
{
	*port = number[*port];
}

static void match_set(struct conf_match *m, const unsigned int number[], unsigned int n)
{
	if (m->in < n)
		m->in = number[m->in];
	if (m->out < n)
		m->out = number[m->out];
}

static void references_set(struct conf *c, const unsigned int number[])
{
	for (unsigned int i = 0; i < c->n_ports; i++)
		if (c->ports[i].vlan != 0)
			number_set(&c->ports[i].parent, number);
	for (unsigned int i = 0; i < c->n_ike_via; i++)
		number_set(&c->ike_port[i], number);
	for (unsigned int i = 0; i < c->n_neighbours; i++)
		number_set(&c->neighbours[i].port, number);
	for (unsigned int i = 0; i < c->n_routes; i++) {
		if (conf_route_has_port(&c->routes[i]))
			number_set(&c->routes[i].port, number);
		for (unsigned int h = 0; h < c->routes[i].hops.n; h++)
			if (c->routes[i].hops.hop[h].tunnel == 0)
				number_set(&c->routes[i].hops.hop[h].port, number);
	}
	for (unsigned int i = 0; i < c->n_rules; i++)
		match_set(&c->rules[i].match, number, c->n_ports);
	for (unsigned int i = 0; i < c->n_nat; i++)
		match_set(&c->nat[i].match, number, c->n_ports);
}

// Numbers of ports that were removed have an entry without a name. Its side is the one that nothing
// is trusted from: packets of the port may still be in flight between workers.
static void ports_place(struct conf *c, const unsigned int number[], unsigned int n)
{
	struct conf_port *ports = conf_alloc(n, sizeof(ports[0]));

	for (unsigned int i = 0; i < n; i++)
		ports[i].unprotected = true;
	for (unsigned int i = 0; i < c->n_ports; i++)
		ports[number[i]] = c->ports[i];
	c->listed_ports = c->ports;
	c->n_listed_ports = c->n_ports;
	c->ports = ports;
	c->n_ports = n;
}

static void numbers_choose(struct conf_reader *r, unsigned int number[], const struct conf *running)
{
	const uint32_t leaving =
		atomic_load_explicit(&running->ports_leaving, memory_order_relaxed);
	uint32_t had = 0, used, has = 0;
	unsigned int n = running->n_ports;

	for (unsigned int i = 0; i < running->n_ports; i++)
		if (!conf_port_is_free(&running->ports[i]))
			had |= UINT32_C(1) << i;
	used = had | leaving;
	for (unsigned int i = 0; i < r->c->n_ports; i++) {
		number_choose(r, number, i, running, &used);
		has |= UINT32_C(1) << number[i];
		n = RTE_MAX(n, number[i] + 1);
	}
	if (r->n_messages > 0)
		return;
	references_set(r->c, number);
	ports_place(r->c, number, n);
	atomic_init(&r->c->ports_leaving, leaving | (had & ~has));
}

static void parents_follow(struct conf_reader *r, const struct conf *running)
{
	struct conf *c = r->c;

	for (unsigned int i = 0; running != NULL && i < RTE_MIN(c->n_ports, running->n_ports); i++)
		c->ports[i].takes_vlans = !conf_port_is_free(&c->ports[i]) &&
					  !conf_port_is_free(&running->ports[i]) &&
					  running->ports[i].takes_vlans;
	for (unsigned int i = 0; i < c->n_ports; i++)
		if (c->ports[i].vlan != 0)
			c->ports[c->ports[i].parent].takes_vlans = true;
}

// Workers remove the tags that a device leaves, except from large segments, and members of a port
// filter VLANs as they were opened.
bool conf_port_may_have_vlans(const struct conf_port *p)
{
	return p->takes_vlans || (p->n_members == 0 && !p->tso);
}

void conf_check_first_vlan(struct conf_reader *r, const struct conf *running)
{
	unsigned int n;
	const struct conf_port *port = conf_items(r->c, CONF_PORT, &n);

	for (unsigned int i = 0; i < n; i++) {
		config_setting_t *s = conf_given(conf_item(r, CONF_PORT, i), "parent");
		const struct conf_port *parent =
			s != NULL ? conf_port_named(running, port[i].parent_name) : NULL;

		if (parent != NULL && parent->vlan == 0 && !conf_port_may_have_vlans(parent))
			conf_err(r, s,
				"port \"%s\" with %s has not had a VLAN yet, needs a restart",
				parent->name, parent->tso ? "tso" : "members");
	}
}

bool conf_port_is_only_in(const struct conf *a, const struct conf *b, unsigned int number)
{
	return number < a->n_ports && !conf_port_is_free(&a->ports[number]) &&
	       (number >= b->n_ports || conf_port_is_free(&b->ports[number]));
}

// Their needs are prepared at the start alone: cards for DPDK, members for their workers,
// interfaces of the kernel for hosts, a method of waiting that all devices support, and the room of
// packet buffers.
const char *conf_port_must_stay(const struct conf_port *p, const struct conf *running)
{
	if (p->n_members > 0)
		return "with members";
	if (!conf_device_is_virtual(p->device) || conf_device_is_xdp(p->device))
		return "on a bus or with AF_XDP";
	if (conf_device_is_composed(p->device))
		return "made of other devices";
	if (p->host != NULL)
		return "with host";
	if (p->isolated || p->steer)
		return "with isolated or steer";
	if (running->idle == CONF_IDLE_INTERRUPT)
		return "while idle is \"interrupt\"";
	return p->mtu > running->packet_max ? "with an mtu above those of the start" : NULL;
}

void conf_number_ports(struct conf_reader *r)
{
	const struct conf *running = r->replaced != NULL ? r->replaced : r->running;
	unsigned int number[CONF_PORTS_MAX];

	if (r->n_messages > 0)
		return;
	if (running != NULL)
		numbers_choose(r, number, running);
	parents_follow(r, running);
}
