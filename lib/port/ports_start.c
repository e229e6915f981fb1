// SPDX-License-Identifier: BSD-3-Clause
#include "ports_start.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "bond.h"
#include "device_socket.h"
#include "eal_log.h"
#include "port_log.h"
#include "port_try.h"

#define LIMIT_S 30 // cards that load their firmware take a few seconds

// A limit to the time in which a port is opened: drivers wait for their device without one.
struct open_limit {
	pthread_t thread;
	int opened;  // an eventfd
	int signals; // a signalfd
	const struct conf_port *conf;
};

static void *limit_run(void *arg)
{
	struct open_limit *l = arg;
	struct pollfd p[] = {
		{.fd = l->opened, .events = POLLIN}, {.fd = l->signals, .events = POLLIN}};
	int rc;

	do
		rc = poll(p, 2, LIMIT_S * 1000);
	while (rc < 0 && errno == EINTR);
	if (p[0].revents != 0)
		return NULL;
	if (rc > 0) {
		log_info("stopping on a signal, while device \"%s\" is opened", l->conf->device);
		_exit(EXIT_SUCCESS);
	}
	port_error(l->conf, "device \"%s\" has not answered for %u seconds: %s", l->conf->device,
		LIMIT_S,
		!conf_device_is_virtual(l->conf->device)
			? "if it is a virtio device behind an IOMMU, the virtual machine needs "
			  "'iommu_platform=on' for it"
			: "does its other end run?");
	_exit(EXIT_FAILURE);
}

static void files_close(const struct open_limit *l)
{
	if (l->opened >= 0)
		close(l->opened);
	if (l->signals >= 0)
		close(l->signals);
}

// From now on there are 30 seconds until open_limit_end(), or the process ends after a message with
// cause and remedy: a driver that waits cannot be stopped. So do SIGTERM and SIGINT end it
// meanwhile. The next start removes remaining files. Returns 0 or -errno.
static int open_limit_start(struct open_limit *l, const struct conf_port *c)
{
	sigset_t set;
	int rc;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	l->conf = c;
	l->opened = eventfd(0, EFD_CLOEXEC);
	l->signals = signalfd(-1, &set, SFD_CLOEXEC); // blocked, it stays pending for others
	rc = l->opened < 0 || l->signals < 0 ? -errno
					     : -pthread_create(&l->thread, NULL, limit_run, l);
	if (rc < 0)
		files_close(l);
	return rc;
}

static void open_limit_end(struct open_limit *l)
{
	eventfd_write(l->opened, 1);
	pthread_join(l->thread, NULL);
	files_close(l);
}

// A port whose peer is to come first waits for it, while the others serve.
static int port_start(struct port *p, const struct conf *conf, const struct conf_port *c,
	struct rte_mempool *pool)
{
	struct open_limit limit;
	int rc;

	if (port_waits_for_peer(conf, c)) {
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
