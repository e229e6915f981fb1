// SPDX-License-Identifier: BSD-3-Clause
#include "port_link.h"

#include "bond.h"
#include "device_socket.h"
#include "device_watch.h"
#include "event_log.h"
#include "iface.h"
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

static void mtu_check(struct port *p)
{
	unsigned int mtu =
		conf_device_is_attached(p->conf->device) ? iface_mtu(p->conf->device) : 0;
	bool lacks = mtu != 0 && mtu < p->conf->mtu;

	if (lacks && !p->lacks_mtu)
		event_post(MTU_SHRUNK, EVENT_TEXT(p->conf->name), EVENT_NUMBER(mtu),
			EVENT_NUMBER(p->conf->mtu));
	p->lacks_mtu = lacks;
}

// The driver of vhost tries again and again, in silence.
static void access_check(struct port *p)
{
	bool denied = device_is_vhost(p->conf->device) && !device_has_link(p->id) &&
		      device_socket_is_denied(p->conf->device);

	if (denied && !p->is_denied)
		device_socket_explain(p->conf);
	p->is_denied = denied;
}

void port_check(struct port *p)
{
	if (p->bond != NULL)
		return;
	mtu_check(p);
	access_check(p);
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
