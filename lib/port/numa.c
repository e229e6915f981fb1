// SPDX-License-Identifier: BSD-3-Clause
#include "numa.h"

#include <limits.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "iface.h"
#include "log.h"
#include "sysfs.h"

static int cpu_node(const char *sys, unsigned int cpu)
{
	char path[PATH_MAX];

	for (int node = 0; node < NUMA_NODES_MAX; node++) {
		snprintf(path, sizeof(path), "%s/devices/system/cpu/cpu%u/node%d", sys, cpu, node);
		if (access(path, F_OK) == 0)
			return node;
	}
	return -1;
}

static int interface_node(const char *sys, const char *name)
{
	char path[PATH_MAX], line[16];

	snprintf(path, sizeof(path), "%s/class/net/%s/device/numa_node", sys, name);
	return sysfs_line(line, sizeof(line), path) ? atoi(line) : -1;
}

// An auxiliary device has no node of its own, but its parent, the card, has.
static int bus_device_node(const char *sys, const char *bus, const char *name)
{
	const char *parent = strcmp(bus, "auxiliary") == 0 ? "/.." : "";
	char path[PATH_MAX], line[16];

	snprintf(path, sizeof(path), "%s/bus/%s/devices/%s%s/numa_node", sys, bus, name, parent);
	return sysfs_line(line, sizeof(line), path) ? atoi(line) : -1;
}

// Of the card, or of the card of the kernel's interface. -1: there is none, or its node is unknown.
static int device_node(const char *sys, const struct conf_port *c)
{
	char interface[IFNAMSIZ], name[CONF_BUS_NAME_MAX];
	const char *bus;

	if (iface_name(interface, c->device))
		return interface_node(sys, interface);
	bus = conf_device_bus(name, c->device);
	return bus != NULL ? bus_device_node(sys, bus, name) : -1;
}

// The node with most of them, the first of several; -1: all are 0.
static int most(const unsigned int n[NUMA_NODES_MAX])
{
	int node = 0;

	for (int i = 1; i < NUMA_NODES_MAX; i++)
		if (n[i] > n[node])
			node = i;
	return n[node] > 0 ? node : -1;
}

static void add(unsigned int n[NUMA_NODES_MAX], int node)
{
	if (node >= 0 && node < NUMA_NODES_MAX)
		n[node]++;
}

static bool has_several_nodes(const char *sys)
{
	char path[PATH_MAX];
	unsigned int n = 0;

	for (int node = 0; node < NUMA_NODES_MAX; node++) {
		snprintf(path, sizeof(path), "%s/devices/system/node/node%d", sys, node);
		n += access(path, F_OK) == 0;
	}
	return n > 1;
}

int numa_node(const struct conf *conf, const char *sys)
{
	unsigned int devices[NUMA_NODES_MAX] = {0}, workers[NUMA_NODES_MAX] = {0};
	int node;

	if (!has_several_nodes(sys))
		return -1;
	for (unsigned int i = 0; i < conf->n_devices; i++)
		add(devices, device_node(sys, &conf->devices[i]));
	for (unsigned int i = 0; i < conf->n_workers; i++)
		add(workers, cpu_node(sys, conf->worker_cpus[i]));
	node = most(devices);
	return node >= 0 ? node : most(workers);
}

// Warns of a part of the configuration that is on another node.
static void compare(
	const struct conf_where *where, const char *what, const char *part, int other, int node)
{
	if (other >= 0 && other != node)
		log_warn("%s:%u: %s is on NUMA node %d, memory and most cards are on node %d: use "
			 "%s",
			where->file, where->line, what, other, node, part);
}

static void cpu_check(const char *sys, const struct conf_where *where, const char *setting,
	unsigned int cpu, int node)
{
	char what[64];

	snprintf(what, sizeof(what), "cpus.%s: CPU %u", setting, cpu);
	compare(where, what, "a CPU of that node, see 'lscpu -e=cpu,node'", cpu_node(sys, cpu),
		node);
}

void numa_check(const struct conf *conf, const char *sys)
{
	int node = numa_node(conf, sys);

	if (node < 0)
		return;
	for (unsigned int i = 0; i < conf->n_devices; i++) {
		const struct conf_port *c = &conf->devices[i];
		char what[CONF_NAME_MAX + 32];

		snprintf(what, sizeof(what), "port \"%s\": its card", c->name);
		compare(&c->where, what, "a card of that node, or a gateway for each node",
			device_node(sys, c), node);
	}
	cpu_check(sys, &conf->control_cpu_where, "control", conf->control_cpu, node);
	for (unsigned int i = 0; i < conf->n_workers; i++)
		cpu_check(sys, &conf->worker_cpus_where, "workers", conf->worker_cpus[i], node);
}
