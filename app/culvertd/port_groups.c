// SPDX-License-Identifier: BSD-3-Clause
#include "port_groups.h"

#include <errno.h>
#include <string.h>

#include "log.h"
#include "nd.h"

#define GROUPS_MAX (PORTS_MAX * LISTENER_GROUPS_MAX) // of a device

static unsigned int groups_add(
	struct rte_ether_addr mac[GROUPS_MAX], unsigned int n, const struct port *p)
{
	for (unsigned int i = 0; i < p->n_groups; i++) {
		unsigned int k = 0;

		while (k < n && !rte_is_same_ether_addr(&mac[k], &p->groups[i]))
			k++;
		mac[k] = p->groups[i];
		n = RTE_MAX(n, k + 1);
	}
	return n;
}

void port_groups_set(const struct port *p)
{
	struct rte_ether_addr mac[GROUPS_MAX];
	unsigned int all = 0;
	int rc;

	if (p->conf->isolated) // the kernel's
		return;
	for (const struct port *q = p; q != NULL; q = q->next_vlan)
		all = groups_add(mac, all, q);
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
	if (port_is_open(p))
		port_groups_set(port_device(p));
}
