// SPDX-License-Identifier: BSD-3-Clause
#include "port_try.h"

#include <errno.h>

#include "device_socket.h"
#include "iface_hide.h"
#include "log.h"
#include "machine.h"

bool port_waits_for_peer(const struct conf *conf, const struct conf_port *c)
{
	char path[DEVICE_SOCKET_SIZE];

	for (unsigned int i = 0; i < conf_port_n_devices(c); i++)
		if (!device_socket_connects(path, conf->devices[c->devices + i].device) ||
			device_socket_is_used(path))
			return false;
	log_info("port \"%s\": no process listens on %s: the port is opened when one does", c->name,
		path);
	return true;
}

int port_try(struct port *p, const struct conf *conf, unsigned int number, struct rte_mempool *pool)
{
	const struct conf_port *c = &conf->ports[number];

	*p = (struct port){0};
	if (port_devices_take(conf, number) < 0)
		return -EIO;
	if (machine_port_check(conf, c) == 0 && port_open(p, conf, c, pool) == 0)
		return 0;
	iface_show(number);
	port_device_release(number);
	return -EIO;
}

void port_drop(const struct port *p, unsigned int number)
{
	if (p != NULL)
		port_close(p);
	iface_show(number);
	port_device_release(number);
}
