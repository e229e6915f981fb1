// SPDX-License-Identifier: BSD-3-Clause
#include "ports_start.h"

#include <errno.h>
#include <string.h>

#include "bond.h"
#include "device_socket.h"
#include "eal_log.h"
#include "open_limit.h"
#include "port_log.h"

// Whether all devices of a port connect to processes that do not run yet; logs the processes that
// it waits for.
static bool waits_for_peer(const struct conf *conf, const struct conf_port *c)
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

// A port whose peer is to come first waits for it, while the others serve.
static int port_start(struct port *p, const struct conf *conf, const struct conf_port *c,
	struct rte_mempool *pool)
{
	struct open_limit limit;
	int rc;

	if (waits_for_peer(conf, c)) {
		port_expect(p, conf, c);
		return 0;
	}
	rc = open_limit_start(&limit, c);
	if (rc < 0) {
		port_error(c, "cannot start a thread: %s", strerror(-rc));
		return -EIO;
	}
	rc = port_open(p, conf, c, pool);
	open_limit_end(&limit);
	atomic_store_explicit(&p->open, rc == 0, memory_order_relaxed);
	return rc;
}

static int no_memory(void)
{
	log_error("out of memory for VLANs and members");
	return -ENOMEM;
}

static int bonds_make(struct port ports[], const struct conf *conf)
{
	for (unsigned int i = 0; i < conf->n_ports; i++) {
		if (conf->ports[i].n_members == 0)
			continue;
		ports[i].bond = bond_new(&conf->ports[i]);
		if (ports[i].bond == NULL)
			return no_memory();
	}
	return 0;
}

int ports_start(struct control *c, struct port ports[])
{
	const struct conf *conf = c->conf;
	int rc = bonds_make(ports, conf);

	if (rc < 0)
		return rc;
	// All of them, so that all mistakes are logged at once.
	for (unsigned int i = 0; i < conf->n_ports; i++)
		if (conf->ports[i].vlan == 0 &&
			port_start(&ports[i], conf, &conf->ports[i], c->pool) < 0)
			rc = -EIO;
	eal_log_forget(); // it does not explain why a device cannot be opened again
	if (rc == 0 && ports_add_vlans(ports, conf) < 0)
		rc = no_memory();
	for (unsigned int i = 0; i < conf->n_ports && rc == 0; i++)
		c->ports[i].mac = port_device(&ports[i])->mac;
	return rc;
}
