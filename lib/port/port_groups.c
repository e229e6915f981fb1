// SPDX-License-Identifier: BSD-3-Clause
// The link addresses whose frames a port receives beside its own.
#include <string.h>

#include "log.h"
#include "nd.h"
#include "port.h"

#define GROUPS_MAX (PORTS_MAX * LISTENER_GROUPS_MAX) // of a device

static bool is_among(
	const struct rte_ether_addr *mac, const struct rte_ether_addr of[], unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (rte_is_same_ether_addr(mac, &of[i]))
			return true;
	return false;
}

// Adds link addresses to the n of all that are not among them. Returns how many there are then.
static unsigned int macs_add(struct rte_ether_addr all[], unsigned int n,
	const struct rte_ether_addr mac[], unsigned int n_mac)
{
	for (unsigned int i = 0; i < n_mac; i++)
		if (!rte_is_zero_ether_addr(&mac[i]) && !is_among(&mac[i], all, n))
			all[n++] = mac[i];
	return n;
}

static void macs_set(struct port *p)
{
	struct rte_ether_addr wanted[PORT_MACS_MAX];
	unsigned int n = 0;
	int rc = 0;

	for (const struct port *q = p; q != NULL; q = q->next_vlan)
		n = macs_add(wanted, n, q->conf->guests.mac, q->conf->guests.n);
	for (unsigned int i = 0; i < p->n_macs; i++)
		if (!is_among(&p->macs[i], wanted, n))
			rte_eth_dev_mac_addr_remove(p->id, &p->macs[i]);
	for (unsigned int i = 0; i < n && rc == 0; i++)
		rc = rte_eth_dev_mac_addr_add(p->id, &wanted[i], 0);
	if (rc < 0)
		rc = rte_eth_promiscuous_enable(p->id);
	if (rc < 0)
		log_warn(
			"port \"%s\": device \"%s\" cannot receive frames for another link address "
			"(%s): virtual routers may not work",
			p->conf->name, p->conf->device, strerror(-rc));
	memcpy(p->macs, wanted, n * sizeof(wanted[0]));
	p->n_macs = n;
}

void port_groups_set(struct port *p)
{
	struct rte_ether_addr mac[GROUPS_MAX];
	unsigned int all = 0;
	int rc;

	if (p->conf->isolated) // the kernel's
		return;
	macs_set(p);
	for (const struct port *q = p; q != NULL; q = q->next_vlan)
		all = macs_add(mac, all, q->groups, q->n_groups);
	if (all == 0)
		return;
	rc = rte_eth_dev_set_mc_addr_list(p->id, mac, all);
	if (rc < 0)
		rc = port_listen_to_all(p);
	if (rc < 0)
		log_warn("port \"%s\": cannot set multicast addresses of device \"%s\" (%s): "
			 "its IPv6 addresses may not be resolved",
			p->conf->name, p->conf->device, strerror(-rc));
}

void port_listen(struct port *p, const struct ip_addr group[], unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		p->groups[i] = nd_group_mac(&group[i]);
	p->n_groups = n;
}
