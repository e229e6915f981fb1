// SPDX-License-Identifier: BSD-3-Clause
// Offloads of a port's device, and its flags for received frames: docs/decisions/0040-offloads.md.
// Control thread, before the device is configured.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>

// Uses of a port.
struct port_use {
	bool unprotected, has_vlans, jumbo; // jumbo: its mtu is above Ethernet's usual size
	bool tso;                           // the other end may leave large segments to be cut
	uint16_t n_rx;                      // queues
	unsigned int n_workers;
};

struct port_offloads {
	uint64_t rx, tx; // RTE_ETH_RX_OFFLOAD_*, RTE_ETH_TX_OFFLOAD_*
	uint64_t rss;    // fields that frames are distributed by, RTE_ETH_RSS_*; 0: not by RSS
	// The ol_flags of a received frame that are kept: the trusted ones, and flags that drivers
	// set unasked and no code reads. The others belong to offloads that the device was not
	// asked for, so that the writer of the buffer could forge them. Those of tags are kept as
	// well while the port has VLANs, which may begin later.
	uint64_t mbuf_flags;
};

// Chooses from the features of the device.
struct port_offloads port_offloads_choose(
	const struct rte_eth_dev_info *info, const struct port_use *use);

// Whether the device distributes ESP by the SPI.
static inline bool port_offloads_spread_esp(const struct port_offloads *o)
{
	return (o->rss & RTE_ETH_RSS_ESP) != 0;
}

// The key of RSS, of size octets: random, the same for all ports, and valid until the process ends.
// NULL: the device has its own, because none of that size can be had.
uint8_t *port_rss_key(size_t size);
