// SPDX-License-Identifier: BSD-3-Clause
#include "port_link.h"

#include "bond.h"
#include "device_watch.h"
#include "machine.h"
#include "vhost_link.h"

// Drivers of packet sockets do not know the link of their interface: the kernel does.
bool port_has_link(const struct port *p)
{
	const struct port *device = port_device(p);

	if (!port_is_open(device))
		return false;
	if (device->bond != NULL)
		return bond_active(device->bond) != 0;
	if (conf_device_is_attached(device->conf->device))
		return iface_has_link(device->conf->device);
	return device_has_link(device->id) && vhost_link_is_settled(device->id);
}

bool port_is_lost(struct port *p)
{
	if (p->bond != NULL)
		return bond_is_lost(p->bond, p->conf, p->returns);
	return device_says_lost(p->id) || device_is_gone(&p->watch, p->id, p->conf->device);
}

bool port_is_present(const struct conf *conf, const struct conf_port *c)
{
	for (unsigned int i = 0; i < conf_port_n_devices(c); i++)
		if (device_is_present(conf->devices[c->devices + i].device))
			return true;
	return false;
}
