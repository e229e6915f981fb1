// SPDX-License-Identifier: BSD-3-Clause
// Ports: from a device named in the configuration to a started ethdev. Control thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>

#include "addr.h"
#include "conf.h"
#include "snapshot.h"

struct port {
	const struct conf_port *conf;
	bool open;
	uint16_t id;         // ethdev's number
	uint16_t n_rx, n_tx; // queues
	struct rte_ether_addr mac;
	unsigned int if_index; // of the kernel's interface, 0 without one
	bool removed;          // that interface
	char driver[RTE_ETH_NAME_MAX_LEN];
};

// Opens and starts the device. Every failure is logged with its cause and the remedy. Returns 0 or
// -EIO.
int port_open(struct port *p, const struct conf *conf, const struct conf_port *c,
	struct rte_mempool *pool);

// Makes the device receive the frames of n multicast groups, at most LISTENER_GROUPS_MAX. What the
// device cannot do is logged.
void port_listen(struct port *p, const struct ip_addr group[], unsigned int n);

// Whether the port is connected. Logs once that its interface was removed: another one of the same
// name is not that of the port.
bool port_has_link(struct port *p);

// Stops and closes it, if it is open.
void port_close(struct port *p);
