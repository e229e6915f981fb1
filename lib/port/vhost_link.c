// SPDX-License-Identifier: BSD-3-Clause
#include "vhost_link.h"

#include <stdatomic.h>

#include <rte_ethdev.h>

#include "device_socket.h"
#include "device_watch.h"

static struct {
	atomic_bool is_vhost;
	atomic_uint changes; // of the link. Written by DPDK's thread, as the next two
	atomic_uint peers;   // that are connected
	atomic_bool second;  // one has connected as a second one; cleared by the control thread
	atomic_bool settled; // the device was started with its peer connected
} links[RTE_MAX_ETHPORTS];

void vhost_link_open(uint16_t id, const char *device)
{
	links[id].changes = 0;
	links[id].peers = 0;
	links[id].second = false;
	links[id].settled = false;
	links[id].is_vhost = device_is_vhost(device);
}

void vhost_link_close(uint16_t id)
{
	links[id].is_vhost = false;
}

// The driver reports one change when it has connected a peer, and one when that has left.
void vhost_link_changed(uint16_t id)
{
	if (!links[id].is_vhost)
		return;
	if (device_has_link(id)) {
		if (++links[id].peers > 1)
			links[id].second = true;
	} else if (links[id].peers > 0 && --links[id].peers > 0) {
		device_lose(id);
	}
	links[id].changes++;
}

bool vhost_link_is_settled(uint16_t id)
{
	return !links[id].is_vhost || links[id].settled;
}

bool vhost_link_is_due(uint16_t id)
{
	return !vhost_link_is_settled(id) && links[id].peers > 0;
}

// The connection of a peer that has been reported is complete. Another connection, which could
// overlap with the start, begins after a further report.
void vhost_link_settle(uint16_t id)
{
	const unsigned int before = links[id].changes;

	if (!vhost_link_is_due(id))
		return;
	rte_eth_dev_stop(id);
	if (rte_eth_dev_start(id) < 0)
		device_lose(id);
	links[id].settled = links[id].changes == before;
}

bool vhost_link_repair(uint16_t id)
{
	links[id].settled = false;
	return links[id].is_vhost;
}

bool vhost_link_is_taken_over(uint16_t id)
{
	return atomic_exchange(&links[id].second, false);
}
