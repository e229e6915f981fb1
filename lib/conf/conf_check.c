// SPDX-License-Identifier: BSD-3-Clause
#include "conf_check.h"

#include <stdlib.h>

#include <rte_common.h>

config_setting_t *conf_item(const struct conf_reader *r, enum conf_kind kind, unsigned int i)
{
	return config_setting_get_elem(conf_member(r->root, conf_kinds[kind].list), i);
}

config_setting_t *conf_given(const config_setting_t *group, const char *name)
{
	config_setting_t *s = conf_member(group, name);

	return s != NULL && s->hook == NULL ? s : NULL;
}

void conf_refuse(struct conf_reader *r, const struct conf_option *options,
	const config_setting_t *group, unsigned int only, const char *why)
{
	for (const struct conf_option *o = options; o->name != NULL; o++) {
		config_setting_t *s = (o->only & only) != 0 ? conf_given(group, o->name) : NULL;

		if (s != NULL)
			conf_err(r, s, "%s", why);
	}
}

void conf_require(
	struct conf_reader *r, enum conf_kind kind, config_setting_t *item, const char *name)
{
	if (conf_member(item, name) == NULL)
		conf_reject_missing(r, item, conf_option_find(conf_kinds[kind].options, name));
}

void conf_refuse_given(
	struct conf_reader *r, const config_setting_t *group, const char *name, const char *why)
{
	config_setting_t *s = conf_given(group, name);

	if (s != NULL)
		conf_err(r, s, "%s", why);
}

bool conf_rejected(const config_setting_t *group, const char *name)
{
	return conf_member(group, name) != NULL && conf_given(group, name) == NULL;
}

config_setting_t *conf_at(config_setting_t *group, const char *name)
{
	config_setting_t *s = conf_member(group, name);

	return s != NULL ? s : group;
}

struct conf_set conf_set_given(
	const struct conf_reader *r, enum conf_kind kind, const char *const names[])
{
	struct conf_set set;
	unsigned int n;

	conf_items(r->c, kind, &n);
	set = (struct conf_set){.index = conf_alloc(n, sizeof(set.index[0]))};
	for (unsigned int i = 0; i < n; i++) {
		const config_setting_t *item = conf_item(r, kind, i);
		unsigned int k = 0;

		while (names[k] != NULL && conf_given(item, names[k]) != NULL)
			k++;
		if (names[k] == NULL)
			set.index[set.n++] = i;
	}
	return set;
}

struct order {
	const struct conf *c;
	conf_compare compare;
};

static int compare_indexes(const void *a, const void *b, void *arg)
{
	const struct order *o = arg;
	unsigned int x = *(const unsigned int *)a, y = *(const unsigned int *)b;
	int by_value = o->compare(o->c, x, y);

	return by_value != 0 ? by_value : (x > y) - (x < y);
}

void conf_set_sort(const struct conf_reader *r, struct conf_set *set, conf_compare compare)
{
	qsort_r(set->index, set->n, sizeof(set->index[0]), compare_indexes,
		&(struct order){r->c, compare});
}

void conf_reject_equal(struct conf_reader *r, enum conf_kind kind, struct conf_set *set,
	conf_compare compare, const char *name, const char *problem)
{
	unsigned int first = 0;

	conf_set_sort(r, set, compare);
	for (unsigned int i = 1; i < set->n; i++) {
		config_setting_t *item = conf_item(r, kind, set->index[i]);

		if (compare(r->c, set->index[first], set->index[i]) != 0)
			first = i;
		else
			conf_err(r, conf_at(item, name), "%s %s", problem,
				conf_ref(conf_item(r, kind, set->index[first])));
	}
}

// No ICMP error can report a size above the mtu of every port.
static void check_pmtu(struct conf_reader *r)
{
	config_setting_t *min = conf_given(conf_member(r->root, "pmtu"), "min");
	unsigned int largest = 0;

	for (unsigned int i = 0; i < r->c->n_ports; i++) {
		if (conf_rejected(conf_item(r, CONF_PORT, i), "mtu"))
			return;
		largest = RTE_MAX(largest, (unsigned int)r->c->ports[i].mtu);
	}
	if (min != NULL && r->c->n_ports > 0 && r->c->pmtu_min > largest)
		conf_err(r, min, "%u is more than the mtu of every port, must be at most %u",
			r->c->pmtu_min, largest);
}

// Another process can share only memory that is in files.
static void check_capture(struct conf_reader *r)
{
	if (r->c->capture && !r->c->hugepages)
		conf_err(r, conf_at(r->root, "capture"),
			"needs shared memory, must be false or memory.hugepages true");
}

static void check_page(struct conf_reader *r)
{
	const config_setting_t *group = conf_member(r->root, "metrics");

	if (r->c->metrics_page && r->c->metrics_port == 0 && r->c->metrics_socket == NULL &&
		!conf_rejected(group, "port") && !conf_rejected(group, "socket"))
		conf_err(r, conf_given(group, "page"),
			"the page has no address: set metrics.port or metrics.socket");
}

// The kernel's routes lead out of its interfaces behind ports.
static void check_kernel_routes(struct conf_reader *r)
{
	config_setting_t *group = conf_given(r->root, "kernel_routes"), *protocols;

	if (group == NULL || !config_setting_is_group(group))
		return;
	if (conf_member(group, "table") == NULL)
		conf_err(r, group, "table is missing, must be \"main\" or a number");
	else if (!conf_has_host(r->c))
		conf_err(r, group,
			"no port and no tunnel has a host, whose interface routes could lead out "
			"of");
	protocols = conf_given(group, "protocols");
	for (unsigned int i = 0; protocols != NULL && i < r->c->n_kernel_protocols; i++)
		if (r->c->kernel_protocols[i] == ROUTE_PROTOCOL_HOST ||
			r->c->kernel_protocols[i] == ROUTE_PROTOCOL_ANNOUNCED)
			conf_err(r, config_setting_get_elem(protocols, i),
				"%u is of the gateway's own routes, which are never followed",
				r->c->kernel_protocols[i]);
}

static void check_announce(struct conf_reader *r)
{
	const config_setting_t *group = conf_member(r->root, "announce");

	if (conf_given(group, "networks") != NULL && conf_member(group, "metric") == NULL)
		conf_err(r, conf_given(group, "networks"), "needs metric");
}

// For checks that only the daemon can do.
static void note_cpus(struct conf_reader *r)
{
	config_setting_t *cpus = conf_at(r->root, "cpus");

	r->c->control_cpu_where = conf_where(conf_at(cpus, "control"));
	r->c->worker_cpus_where = conf_where(conf_at(cpus, "workers"));
}

void conf_check(struct conf_reader *r)
{
	note_cpus(r);
#define KIND(id, noun, list, ...) conf_check_##list(r);
#include "conf_kind.def"
	conf_check_sides(r);
	conf_check_isolated(r);
	conf_check_memory(r);
	check_pmtu(r);
	check_capture(r);
	check_page(r);
	check_kernel_routes(r);
	check_announce(r);
	conf_check_channel(r);
	conf_check_fleet(r);
	if (r->n_messages == 0)
		conf_devices_list(r->c);
}

// --- against the running configuration ---

// group and absent: see check_same_group().
static void check_same(struct conf_reader *r, const struct conf_option *o, config_setting_t *group,
	const char *absent, const char *base, const char *running)
{
	config_setting_t *s = conf_member(group, o->name);

	if (conf_option_equal(o, base, running))
		return;
	if (s == NULL) // then it stands for a default
		conf_err(r, group, "%s%s differs from the running configuration, needs a restart",
			absent, o->name);
	else if (s->hook == NULL)
		conf_err(r, s, "differs from the running configuration, needs a restart");
}

// group: where the settings may stand; of a group that is not there, the one around it, and absent
// precedes their names then.
static void check_same_group(struct conf_reader *r, const struct conf_option *options,
	config_setting_t *group, const char *absent, const void *base, const void *running)
{
	for (const struct conf_option *o = options; o->name != NULL; o++) {
		if (o->shape == CONF_GROUP)
			check_same_group(r, o->options, conf_at(group, o->name),
				conf_member(group, o->name) != NULL
					? ""
					: conf_format("%s%s.", absent, o->name),
				base, running);
		else if (o->restart)
			check_same(r, o, group, absent, base, running);
	}
}

static bool is_vlan(const struct conf_port *p)
{
	return p->parent_name[0] != '\0';
}

static void check_same_port(struct conf_reader *r, config_setting_t *item,
	const struct conf_port *port, const struct conf_port *was)
{
	check_same_group(r, conf_kinds[CONF_PORT].options, item, "", port, was);
	// Whether the device's frames without a tag are received is decided once.
	if (conf_port_has_addrs(port) != conf_port_has_addrs(was) &&
		!conf_rejected(item, "addresses"))
		conf_err(r, item,
			"addresses: a parent of VLANs gets its first, or loses its last one, "
			"needs a restart");
}

// A port that is removed is closed later, so that its device is not free yet.
static void check_device_is_free(struct conf_reader *r, config_setting_t *item,
	const struct conf_port *p, const struct conf *running)
{
	for (unsigned int i = 0; i < running->n_ports; i++)
		if (conf_port_n_devices(&running->ports[i]) == 1 &&
			conf_devices_are_equal(p->device, running->ports[i].device))
			conf_err(r, conf_at(item, "device"),
				"is that of port %s, which another reload has to remove before",
				conf_quote(running->ports[i].name));
}

// Unless packet_buffers is given, there are as many as the ports of the start may use at once.
static void check_new_port(struct conf_reader *r, config_setting_t *item, const struct conf_port *p,
	const struct conf *running)
{
	const config_setting_t *memory = conf_member(r->root, "memory");
	const unsigned int used = conf_packet_buffers(r->c), buffers = r->c->packet_buffers;
	const char *reason = conf_port_must_stay(p, running);

	if (reason != NULL)
		conf_err(r, item, "is a new port %s, needs a restart", reason);
	else if (conf_member(memory, "packet_buffers") == NULL && used > buffers)
		conf_err(r, item,
			"is a new port, with the ports of this file %u packet buffers may be in "
			"use, and "
			"there are %u: set memory.packet_buffers, needs a restart",
			used, buffers);
	else
		check_device_is_free(r, item, p, running);
}

static void check_removed_port(
	struct conf_reader *r, const struct conf_port *p, const struct conf *running)
{
	const char *reason = conf_port_must_stay(p, running);

	if (reason != NULL)
		conf_err(r, conf_given(r->root, "ports"), "port %s %s is missing, needs a restart",
			conf_quote(p->name), reason);
}

// VLANs and ports with virtual devices come and go.
static void check_same_ports(struct conf_reader *r, const struct conf *running)
{
	config_setting_t *list = conf_given(r->root, "ports");
	const struct conf_port *port;
	bool stays[CONF_PORTS_MAX] = {false};
	unsigned int n;

	if (list == NULL)
		return;
	port = conf_items(r->c, CONF_PORT, &n);
	for (unsigned int i = 0; i < n; i++) {
		const struct conf_port *was = conf_port_named(running, port[i].name);
		config_setting_t *item = conf_item(r, CONF_PORT, i);

		if (was != NULL)
			stays[was - running->ports] = true;
		if (was != NULL && is_vlan(was) != is_vlan(&port[i]))
			conf_err(r, item, "becomes a VLAN, or is none any more, needs a restart");
		else if (was != NULL && !is_vlan(was))
			check_same_port(r, item, &port[i], was);
		else if (was == NULL && !is_vlan(&port[i]) && !conf_rejected(item, "name") &&
			 !conf_rejected(item, "device"))
			check_new_port(r, item, &port[i], running);
	}
	for (unsigned int i = 0; i < running->n_ports; i++)
		if (!stays[i] && conf_port_n_devices(&running->ports[i]) > 0)
			check_removed_port(r, &running->ports[i], running);
}

void conf_check_first_host(struct conf_reader *r)
{
	const struct conf *running = r->replaced != NULL ? r->replaced : r->running;

	r->c->may_host = running != NULL ? running->may_host : conf_has_host(r->c);
	for (unsigned int i = 0; i < r->c->n_ports && !r->c->may_host; i++)
		if (r->c->ports[i].vlan != 0 && r->c->ports[i].host != NULL)
			conf_err(r, conf_at(conf_item(r, CONF_PORT, i), "host"),
				"is the first host, needs a restart");
	for (unsigned int i = 0; i < r->c->n_tunnels && !r->c->may_host; i++)
		if (r->c->tunnels[i].host != NULL)
			conf_err(r, conf_at(conf_item(r, CONF_TUNNEL, i), "host"),
				"is the first host, needs a restart");
}

void conf_check_growth(struct conf_reader *r)
{
	const struct conf *running = r->replaced != NULL ? r->replaced : r->running;
	struct conf *c = r->c;

	c->flows_first = running != NULL ? running->flows_first : c->flows_max;
	if (running != NULL && c->flows_max > running->flows_max &&
		!conf_rejected(conf_member(r->root, "flows"), "max") &&
		c->flows_max > (uint64_t)c->flows_first * CONF_FLOWS_GROWTH)
		conf_err(r, conf_at(conf_at(r->root, "flows"), "max"),
			"more than %u times that of the start, %u, needs a restart",
			CONF_FLOWS_GROWTH, c->flows_first);
}

void conf_check_restart(struct conf_reader *r, const struct conf *running)
{
	check_same_group(r, conf_top_options, r->root, "", r->c, running);
	check_same_ports(r, running);
	conf_check_first_vlan(r, running);
	conf_check_isolated_restart(r, running);
}
