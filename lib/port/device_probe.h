// SPDX-License-Identifier: BSD-3-Clause
// From a device named in the configuration to an ethdev that is not configured yet, and back. The
// thread that opens the device.
#pragma once

#include <stdint.h>

#include <rte_ethdev.h>

#include "conf.h"

// Has DPDK find or make the device of a port or member. Returns 0, or -EIO after logging the cause
// and the remedy.
int device_find(uint16_t *id, const struct conf_port *c);

// Reads the features of the device, and refuses an mtu that it does not support. Returns 0, or -EIO
// after a message.
int device_identify(struct rte_eth_dev_info *info, uint16_t id, const struct conf_port *c);

// Whether the device has the queues that its port has, which workers have divided up already. The
// last argument is "device" or "member", for the message. Returns 0, or -EIO after it.
int device_queues_check(const struct rte_eth_dev_info *info, const struct conf_port *c,
	const char *what, uint16_t n_rx, uint16_t n_tx);

// Makes the device receive the frames of all multicast groups, if need be also those for other
// stations. Returns 0 or -errno.
int device_listen_to_all(uint16_t id);

// Stops and closes the ethdev; with the last one of a device, removes that.
void device_close(uint16_t id);
