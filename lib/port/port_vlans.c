// SPDX-License-Identifier: BSD-3-Clause
// VLANs of a port's device.
#include "port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

static bool is_vlan_of(const struct conf *conf, unsigned int port, const struct conf_port *parent)
{
	return conf->ports[port].vlan != 0 &&
	       strcmp(conf->ports[port].parent_name, parent->name) == 0;
}

bool port_needs_all_groups(const struct conf *conf, const struct conf_port *c)
{
	bool needs = c->host != NULL || (c->n_members > 0 && c->bond == CONF_LACP);

	for (unsigned int i = 0; i < conf->n_ports; i++)
		needs |= is_vlan_of(conf, i, c) && conf->ports[i].host != NULL;
	return needs;
}

static bool is_vlan_here(const struct port *p, const struct conf *conf, uint16_t vlan)
{
	for (unsigned int i = 0; i < conf->n_ports; i++)
		if (is_vlan_of(conf, i, p->conf) && conf->ports[i].vlan == vlan)
			return true;
	return false;
}

static bool is_in_filter(const struct port *p, uint16_t vlan)
{
	for (unsigned int i = 0; i < p->n_filter; i++)
		if (p->filter[i] == vlan)
			return true;
	return false;
}

// The filter of a device that was opened without VLANs: some discard all tags until it is set.
static int filter_begin(struct port *p)
{
	struct rte_eth_dev_info info;
	int rc;

	if (p->vlans == NULL || p->bond != NULL ||
		(p->offloads.rx & RTE_ETH_RX_OFFLOAD_VLAN_FILTER) != 0)
		return 0;
	rc = rte_eth_dev_info_get(p->id, &info);
	if (rc < 0 || (info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_VLAN_FILTER) == 0)
		return rc;
	rc = rte_eth_dev_set_vlan_offload(
		p->id, rte_eth_dev_get_vlan_offload(p->id) | RTE_ETH_VLAN_FILTER_OFFLOAD);
	if (rc == 0)
		p->offloads.rx |= RTE_ETH_RX_OFFLOAD_VLAN_FILTER;
	return rc;
}

int port_vlan_filters_set(struct port *p, const struct conf *conf)
{
	unsigned int kept = 0;
	int rc = 0;

	if ((p->offloads.rx & RTE_ETH_RX_OFFLOAD_VLAN_FILTER) == 0)
		return 0;
	rte_eth_dev_vlan_filter(p->id, 0, 1);
	for (unsigned int i = 0; i < p->n_filter; i++)
		if (is_vlan_here(p, conf, p->filter[i]))
			p->filter[kept++] = p->filter[i];
		else
			rte_eth_dev_vlan_filter(p->id, p->filter[i], 0);
	p->n_filter = kept;
	for (unsigned int i = 0; i < conf->n_ports && rc == 0; i++) {
		uint16_t vlan = conf->ports[i].vlan;

		if (!is_vlan_of(conf, i, p->conf) || is_in_filter(p, vlan))
			continue;
		rc = rte_eth_dev_vlan_filter(p->id, vlan, 1);
		if (rc == 0)
			p->filter[p->n_filter++] = vlan;
	}
	return rc;
}

// Frames without a tag are for the port of the device, if it has an address.
static struct vlan_map *vlan_map_new(const struct port *p, uint16_t number)
{
	struct vlan_map *map = malloc(sizeof(*map));

	if (map == NULL)
		return NULL;
	for (unsigned int i = 0; i < VLAN_IDS; i++)
		map->port[i] = VLAN_NONE;
	if (conf_port_has_addrs(p->conf))
		map->port[0] = number;
	return map;
}

static int parent_prepare(struct port ports[], unsigned int number)
{
	struct port *parent = &ports[number];

	if (parent->vlans == NULL)
		parent->vlans = vlan_map_new(parent, (uint16_t)number);
	return parent->vlans != NULL ? 0 : -ENOMEM;
}

int port_prepare_vlan(struct port ports[], const struct conf_port *c, unsigned int number)
{
	ports[number] = (struct port){.parent = &ports[c->parent], .vlan = c->vlan};
	return parent_prepare(ports, c->parent);
}

void ports_forget_vlans(struct port ports[], const struct conf *conf)
{
	for (unsigned int i = 0; i < conf->n_ports; i++)
		if (!conf->ports[i].takes_vlans) {
			free(ports[i].vlans);
			ports[i].vlans = NULL;
		}
}

// The VLANs of a port, as workers look them up.
static void vlan_map_set(struct vlan_map *map, const struct port *p, const struct port ports[])
{
	uint16_t wanted[VLAN_IDS];

	for (unsigned int i = 1; i < VLAN_IDS; i++)
		wanted[i] = VLAN_NONE;
	for (const struct port *q = p->next_vlan; q != NULL; q = q->next_vlan)
		wanted[q->vlan] = (uint16_t)(q - ports);
	for (unsigned int i = 1; i < VLAN_IDS; i++)
		atomic_store_explicit(&map->port[i], wanted[i], memory_order_release);
}

void ports_follow_vlans(struct port ports[], const struct conf *conf)
{
	for (unsigned int i = 0; i < conf->n_ports; i++)
		ports[i].next_vlan = NULL;
	for (unsigned int i = 0; i < conf->n_ports; i++) {
		const struct conf_port *c = &conf->ports[i];

		if (c->vlan == 0)
			continue;
		ports[i].conf = c;
		ports[i].next_vlan = ports[c->parent].next_vlan;
		ports[c->parent].next_vlan = &ports[i];
	}
	for (unsigned int i = 0; i < conf->n_ports; i++)
		if (ports[i].vlans != NULL)
			vlan_map_set(ports[i].vlans, &ports[i], ports);
}

int ports_add_vlans(struct port ports[], const struct conf *conf)
{
	for (unsigned int i = 0; i < conf->n_ports; i++) {
		const struct conf_port *c = &conf->ports[i];

		if (c->vlan != 0 && port_prepare_vlan(ports, c, i) < 0)
			return -ENOMEM;
	}
	ports_follow_vlans(ports, conf);
	return 0;
}

void port_vlans_set(struct port *p, const struct conf *conf)
{
	int rc = filter_begin(p);

	if (rc == 0)
		rc = port_vlan_filters_set(p, conf);
	if (rc == 0 && port_needs_all_groups(conf, p->conf))
		rc = port_listen_to_all(p);
	if (rc < 0)
		log_warn(
			"port \"%s\": device \"%s\" does not receive all frames of its VLANs (%s): "
			"restart culvertd",
			p->conf->name, p->conf->device, strerror(-rc));
}
