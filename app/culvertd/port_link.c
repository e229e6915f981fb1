// SPDX-License-Identifier: BSD-3-Clause
#include "port_link.h"

#include <net/if.h>

#include "device_socket.h"
#include "machine.h"
#include "tap.h"

static bool has_link(const struct port *p)
{
	struct rte_eth_link link = {0};

	return rte_eth_link_get_nowait(p->id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

// Drivers of packet sockets do not know the link of their interface: the kernel does.
bool port_has_link(const struct port *p)
{
	const struct port *device = port_device(p);

	if (!port_is_open(device))
		return false;
	if (conf_device_is_attached(device->conf->device))
		return iface_has_link(device->conf->device);
	return has_link(device);
}

static bool interface_is_gone(const struct port *p)
{
	char name[IF_NAMESIZE];

	if (p->tap >= 0)
		return !tap_exists(p->tap);
	return p->if_index != 0 && if_indextoname(p->if_index, name) == NULL;
}

// The link is that to the process at the other end, which drivers do not connect to again. One that
// has just been opened is given time.
static bool peer_is_gone(struct port *p)
{
	char path[DEVICE_SOCKET_SIZE];

	if (!device_socket_connects(path, p->conf->device))
		return false;
	if (has_link(p)) {
		p->patience = 0;
		return false;
	}
	return p->patience == 0 || --p->patience == 0;
}

bool port_is_lost(struct port *p)
{
	return port_says_lost(p) || interface_is_gone(p) || peer_is_gone(p) ||
	       !device_is_on_bus(p->conf->device);
}

bool device_returns(const char *device)
{
	return !conf_device_is_xdp(device);
}

bool device_is_present(const char *device)
{
	char name[IFNAMSIZ], path[DEVICE_SOCKET_SIZE];

	if (!device_is_on_bus(device))
		return false;
	if (conf_device_is_attached(device) && iface_name(name, device))
		return if_nametoindex(name) != 0;
	return !device_socket_connects(path, device) || device_socket_is_used(path);
}
