// SPDX-License-Identifier: BSD-3-Clause
// Ports: from a device named in the configuration to a started ethdev; and VLANs, which use the
// device of their parents. Control thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>

#include "addr.h"
#include "conf.h"
#include "listener.h"
#include "port_offload.h"
#include "vlan.h"

struct port {
	const struct conf_port *conf;
	bool open;
	uint16_t id;         // ethdev's number
	uint16_t n_rx, n_tx; // queues
	struct rte_ether_addr mac;
	unsigned int if_index; // of the kernel's interface, 0 without one
	bool removed;          // that interface
	char driver[RTE_ETH_NAME_MAX_LEN];
	struct port_offloads offloads;
	bool inserts_vlan;      // it tags frames that are to be sent
	struct vlan_map *vlans; // the ports of its VLANs; NULL: it has none
	struct port *next_vlan; // the first of these ports, and from there the next; NULL: none
	struct port *parent;    // of a VLAN, which has nothing of the above but conf; else NULL
	uint16_t vlan;          // its identifier
	struct rte_ether_addr groups[LISTENER_GROUPS_MAX]; // multicast groups to be received
	unsigned int n_groups;
};

// The port with the device that sends and receives for a port. Any thread.
static inline const struct port *port_device(const struct port *p)
{
	return p->parent != NULL ? p->parent : p;
}

// Opens and starts the device. Every failure is logged with its cause and the remedy. Returns 0 or
// -EIO.
int port_open(struct port *p, const struct conf *conf, const struct conf_port *c,
	struct rte_mempool *pool);

// Makes the ports that are VLANs out of the opened ports of the same configuration. Returns 0 or
// -ENOMEM.
int ports_add_vlans(struct port ports[], const struct conf *conf);

// Makes the device receive the frames of n multicast groups, at most LISTENER_GROUPS_MAX. What the
// device cannot do is logged.
void port_listen(struct port *p, const struct ip_addr group[], unsigned int n);

// Whether the port is connected. Logs once that its interface was removed: another one of the same
// name is not that of the port.
bool port_has_link(struct port *p);

// Stops and closes it, if it is open.
void port_close(struct port *p);
