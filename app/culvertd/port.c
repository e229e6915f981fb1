// SPDX-License-Identifier: BSD-3-Clause
#include "port.h"

#include <ctype.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include <rte_dev.h>
#include <rte_pci.h>

#include "eal.h"
#include "log.h"

#define DESCRIPTORS 1024 // per queue, where the device allows

// Says what is wrong with a port, where it stands in the configuration.
#define port_error(c, fmt, ...)                                                                    \
	log_error("%s:%u: port \"%s\": " fmt, (c)->where.file, (c)->where.line, (c)->name,         \
		##__VA_ARGS__)

bool port_is_pci(const char *device)
{
	struct rte_pci_addr addr;

	return isxdigit((unsigned char)device[0]) && rte_pci_addr_parse(device, &addr) == 0;
}

// Names the commonest causes; what DPDK said about it follows.
static void explain_missing(const struct conf_port *c, int error)
{
	const char *iface = strstr(c->device, "iface=");
	char name[IFNAMSIZ] = "";

	if (port_is_pci(c->device)) {
		port_error(c,
			"device %s not found, or bound to a kernel driver: see "
			"'dpdk-devbind.py --status' and bind it to vfio-pci",
			c->device);
		return;
	}
	if (iface != NULL)
		sscanf(iface, "iface=%15[^,]", name);
	if (name[0] != '\0' && strncmp(c->device, "net_tap", 7) != 0 && if_nametoindex(name) == 0)
		port_error(c,
			"device \"%s\" not found: there is no network interface \"%s\" here, "
			"see 'ip link'",
			c->device, name);
	else
		port_error(c, "device \"%s\" not opened: %s; check the driver's name and arguments",
			c->device, strerror(error));
}

static int device_find(uint16_t *id, const struct conf_port *c)
{
	char name[RTE_ETH_NAME_MAX_LEN] = "";
	const char *comma = strchr(c->device, ',');
	size_t len = comma != NULL ? (size_t)(comma - c->device) : strlen(c->device);
	int rc = 0;

	if (len >= sizeof(name)) {
		port_error(c, "device name is longer than %zu characters", sizeof(name) - 1);
		return -EIO;
	}
	memcpy(name, c->device, len);
	if (!port_is_pci(c->device)) {
		eal_log_begin();
		rc = rte_eal_hotplug_add("vdev", name, comma != NULL ? comma + 1 : "");
		eal_log_end(rc < 0);
	}
	if (rc == 0)
		rc = rte_eth_dev_get_port_by_name(name, id);
	if (rc < 0)
		explain_missing(c, -rc);
	return rc < 0 ? -EIO : 0;
}

// How many RX queues to use. Packet sockets spread over all that the device was made with, whether
// we read them or not; elsewhere one for each worker is what is useful.
static uint16_t rx_queues(
	const struct conf *conf, const struct conf_port *c, const struct rte_eth_dev_info *info)
{
	if (c->rx_queues != 0)
		return c->rx_queues;
	if (strcmp(info->driver_name, "net_af_packet") == 0)
		return info->max_rx_queues;
	return (uint16_t)RTE_MIN(conf->n_workers, (unsigned int)info->max_rx_queues);
}

static struct rte_eth_conf eth_conf_of(
	const struct conf_port *c, const struct rte_eth_dev_info *info, uint16_t n_rx)
{
	const uint64_t spread = RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP |
				RTE_ETH_RSS_SCTP | RTE_ETH_RSS_ESP;
	struct rte_eth_conf e = {
		.rxmode.mtu = c->mtu,
		.rxmode.offloads = info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_IPV4_CKSUM,
		.txmode.offloads = info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE,
	};

	if (n_rx > 1 && (info->flow_type_rss_offloads & spread) != 0) {
		e.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		e.rx_adv_conf.rss_conf.rss_hf = info->flow_type_rss_offloads & spread;
	}
	return e;
}

static int queues_setup(struct port *p, struct rte_mempool *pool)
{
	uint16_t n_rxd = DESCRIPTORS, n_txd = DESCRIPTORS;
	int rc = rte_eth_dev_adjust_nb_rx_tx_desc(p->id, &n_rxd, &n_txd);

	for (uint16_t q = 0; rc == 0 && q < p->n_rx; q++)
		rc = rte_eth_rx_queue_setup(p->id, q, n_rxd, SOCKET_ID_ANY, NULL, pool);
	for (uint16_t q = 0; rc == 0 && q < p->n_tx; q++)
		rc = rte_eth_tx_queue_setup(p->id, q, n_txd, SOCKET_ID_ANY, NULL);
	return rc;
}

// Returns what failed, NULL if nothing did; *rc is the error.
static const char *start(int *rc, struct port *p, const struct conf *conf, struct rte_mempool *pool)
{
	const struct conf_port *c = p->conf;
	struct rte_eth_dev_info info;

	*rc = rte_eth_dev_info_get(p->id, &info);
	if (*rc < 0)
		return "asking the device what it can";
	snprintf(p->driver, sizeof(p->driver), "%s", info.driver_name);
	p->n_rx = rx_queues(conf, c, &info);
	p->n_tx = (uint16_t)RTE_MIN(conf->n_workers, (unsigned int)info.max_tx_queues);
	*rc = -EINVAL;
	if (p->n_rx > info.max_rx_queues)
		return "rx_queues: the device does not have so many";

	struct rte_eth_conf e = eth_conf_of(c, &info, p->n_rx);

	*rc = rte_eth_dev_configure(p->id, p->n_rx, p->n_tx, &e);
	if (*rc < 0)
		return "configuring it; does it allow this mtu and number of queues?";
	*rc = rte_eth_dev_set_mtu(p->id, c->mtu);
	if (*rc < 0 && *rc != -ENOTSUP)
		return "mtu: the device does not allow this value";
	*rc = queues_setup(p, pool);
	if (*rc < 0)
		return "setting up its queues; is memory.size large enough?";
	if (c->mac_set) {
		struct rte_ether_addr mac = c->mac;

		*rc = rte_eth_dev_default_mac_addr_set(p->id, &mac);
		if (*rc < 0)
			return "mac: the device does not take this address";
	}
	*rc = rte_eth_dev_start(p->id);
	if (*rc < 0)
		return "starting it";
	*rc = rte_eth_macaddr_get(p->id, &p->mac);
	return *rc < 0 ? "reading its address" : NULL;
}

int port_open(struct port *p, const struct conf *conf, const struct conf_port *c,
	struct rte_mempool *pool)
{
	const char *failed;
	int rc;

	p->conf = c;
	if (device_find(&p->id, c) < 0)
		return -EIO;
	p->open = true;
	eal_log_begin();
	failed = start(&rc, p, conf, pool);
	eal_log_end(failed != NULL);
	if (failed == NULL)
		return 0;
	port_error(c, "device \"%s\": %s (%s)", c->device, failed, strerror(-rc));
	return -EIO;
}

void port_close(struct port *p)
{
	if (!p->open)
		return;
	p->open = false;
	rte_eth_dev_stop(p->id);
	rte_eth_dev_close(p->id);
}
