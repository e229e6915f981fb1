// SPDX-License-Identifier: BSD-3-Clause
#include "device_probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_bus.h>
#include <rte_bus_vdev.h>
#include <rte_dev.h>
#include <rte_ethdev.h>

#include "capability.h"
#include "device_socket.h"
#include "device_watch.h"
#include "eal_log.h"
#include "port_log.h"

// DPDK has made the ethdev with that of its card.
static int representor_find(uint16_t *id, const char *device)
{
	struct rte_dev_iterator all;
	int rc = rte_eth_iterator_init(&all, device);

	if (rc < 0)
		return rc;
	*id = rte_eth_iterator_next(&all);
	if (*id == RTE_MAX_ETHPORTS)
		return -ENODEV;
	rte_eth_iterator_cleanup(&all);
	return 0;
}

// Removes the argument for several queues of a packet socket. When one queue is nearly full, the
// kernel moves packets to another one, and those of a flow are read out of order. Workers share the
// frames of one queue instead.
static void qpairs_remove(char *device)
{
	char qpairs[8], *at, *rest;

	if (strncmp(device, "net_af_packet", 13) != 0 ||
		!conf_device_arg(qpairs, sizeof(qpairs), device, "qpairs"))
		return;
	at = strstr(device, ",qpairs=");
	rest = at + 1 + strcspn(at + 1, ",");
	memmove(at, rest, strlen(rest) + 1);
	if (strcmp(qpairs, "1") != 0)
		log_warn("device \"%s\": one queue is used, not qpairs=%s, between which the "
			 "kernel moves packets of a flow: workers share its frames",
			device, qpairs);
}

// more: further arguments.
static int vdev_add(const char *name, const char *device, const char *more)
{
	char *copy, *args;
	int rc;

	if (asprintf(&copy, "%s%s", device, more) < 0)
		return -ENOMEM;
	qpairs_remove(copy);
	args = strchr(copy, ',');
	rc = rte_vdev_init(name, args != NULL ? args + 1 : "");
	free(copy);
	return rc;
}

// DPDK names the first ethdev of a device after it, without its arguments.
static int device_probe(uint16_t *id, const char *device, const char *more)
{
	char name[CONF_BUS_NAME_MAX];
	int rc = 0;

	if (conf_device_is_representor(device))
		return representor_find(id, device);
	if (conf_device_bus(name, device) == NULL) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(device, ","), device);
		rc = vdev_add(name, device, more);
	} else if (rte_eth_dev_get_port_by_name(name, id) < 0) {
		rc = rte_dev_probe(device); // rte_eal_init() has done so at the start
	}
	return rc < 0 ? rc : rte_eth_dev_get_port_by_name(name, id);
}

// Names the commonest causes, after DPDK's own messages.
static void explain_missing(const struct conf_port *c, int error)
{
	char pci[CONF_PCI_NAME_MAX];

	if (conf_device_is_representor(c->device)) {
		port_error(c,
			"device \"%s\": the card has no such representor: its eswitch must be in "
			"the mode switchdev ('devlink dev eswitch show'), and its virtual function "
			"must exist",
			c->device);
	} else if (conf_device_pci(pci, c->device)) {
		eal_log_start_show();
		port_error(c,
			"DPDK does not open device %s, see its lines above: bind it to vfio-pci "
			"('culvertctl bind %s'), and let this user open "
			"/dev/vfio/*",
			c->device, pci);
	} else if (device_socket_explain(c)) {
		return;
	} else if (capabilities_lack_network() &&
		   (conf_device_is_attached(c->device) || strncmp(c->device, "net_tap", 7) == 0)) {
		port_error(c,
			"cannot open device \"%s\": run culvertd as root, or with the capabilities "
			"CAP_NET_ADMIN and CAP_NET_RAW",
			c->device);
	} else {
		// Most drivers return -1 for whatever they have logged.
		port_error(c, "cannot open device \"%s\"%s%s; check the driver's arguments",
			c->device, error == EPERM ? ", see DPDK's lines above" : ": ",
			error == EPERM ? "" : strerror(error));
	}
}

int device_find(uint16_t *id, const struct conf_port *c)
{
	int rc;

	if (strcspn(c->device, ",") >= CONF_BUS_NAME_MAX) {
		port_error(c, "device name is longer than %u characters", CONF_BUS_NAME_MAX - 1);
		return -EIO;
	}
	eal_log_begin();
	rc = device_probe(id, c->device, c->tso && device_is_vhost(c->device) ? ",tso=1" : "");
	eal_log_end(rc < 0);
	if (rc < 0) {
		explain_missing(c, -rc);
		return -EIO;
	}
	vhost_link_open(*id, c->device);
	return 0;
}

// The largest mtu. Some drivers give only the size of a frame, which rte_eth_dev_configure()
// checks.
static uint32_t mtu_max(const struct conf_port *c, const struct rte_eth_dev_info *info)
{
	const uint32_t ethernet = RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;
	bool has_both = info->max_mtu != UINT16_MAX && info->max_rx_pktlen > info->max_mtu;

	if (has_both || conf_device_is_attached(c->device))
		return info->max_mtu;
	return RTE_MIN((uint32_t)info->max_mtu, info->max_rx_pktlen - ethernet);
}

// This driver offers two queues for every card, of which the first generations have one: packets
// sent by the other are lost.
static void queues_limit(struct rte_eth_dev_info *info)
{
	if (strcmp(info->driver_name, "net_e1000_em") == 0) {
		info->max_rx_queues = 1;
		info->max_tx_queues = 1;
	}
}

int device_identify(struct rte_eth_dev_info *info, uint16_t id, const struct conf_port *c)
{
	int rc = rte_eth_dev_info_get(id, info);

	if (rc < 0) {
		port_error(c, "cannot read the capabilities of device \"%s\": %s", c->device,
			strerror(-rc));
		return -EIO;
	}
	queues_limit(info);
	if (c->mtu <= mtu_max(c, info))
		return 0;
	port_error(c, "mtu is %u, but device \"%s\" carries %u at most", c->mtu, c->device,
		mtu_max(c, info));
	return -EIO;
}

int device_queues_check(const struct rte_eth_dev_info *info, const struct conf_port *c,
	const char *what, uint16_t n_rx, uint16_t n_tx)
{
	if (n_rx <= info->max_rx_queues && n_tx <= info->max_tx_queues)
		return 0;
	port_error(c,
		"%s \"%s\" has %u RX and %u TX queues, but the port has %u and %u: restart "
		"culvertd",
		what, c->device, info->max_rx_queues, info->max_tx_queues, n_rx, n_tx);
	return -EIO;
}

int device_listen_to_all(uint16_t id)
{
	return rte_eth_allmulticast_enable(id) == 0 ? 0 : rte_eth_promiscuous_enable(id);
}

// Others that were made of the same device, such as virtual functions (representors).
static bool device_has_ports(const struct rte_device *device)
{
	uint16_t id;

	RTE_ETH_FOREACH_DEV_OF(id, device)
	return true;
	return false;
}

// Virtual devices are removed directly: rte_dev_remove() would notify other processes of DPDK
// first, which fails once this one has changed its user.
static void device_remove(struct rte_device *device)
{
	if (strcmp(rte_bus_name(rte_dev_bus(device)), "vdev") == 0)
		rte_vdev_uninit(rte_dev_name(device));
	else
		rte_dev_remove(device);
}

void device_close(uint16_t id)
{
	struct rte_eth_dev_info info;
	int rc = rte_eth_dev_info_get(id, &info);

	rte_eth_dev_stop(id);
	rte_eth_dev_close(id);
	vhost_link_close(id);
	if (rc == 0 && !device_has_ports(info.device))
		device_remove(info.device);
}
