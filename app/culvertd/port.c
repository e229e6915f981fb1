// SPDX-License-Identifier: BSD-3-Clause
#include "port.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "device_probe.h"
#include "device_socket.h"
#include "eal_log.h"
#include "iface_hide.h"
#include "machine.h"
#include "port_flow.h"
#include "tap.h"
#include "vhost_peer.h"

#define DESCRIPTORS 1024  // per queue, where the device allows
#define PATIENCE    20    // see struct port: 2 s
#define NOTICE_US   10000 // for the driver's own thread to notice that its peer left

// Names the commonest causes, after what DPDK said about it.
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
	} else if (iface_not_permitted() &&
		   (conf_device_is_attached(c->device) || strncmp(c->device, "net_tap", 7) == 0)) {
		port_error(c,
			"cannot open device \"%s\": run culvertd as root, or with the capabilities "
			"CAP_NET_ADMIN and CAP_NET_RAW",
			c->device);
	} else {
		port_error(c,
			"cannot open device \"%s\": %s; check the driver's name and arguments",
			c->device, strerror(error));
	}
}

static int device_find(uint16_t *id, const struct conf_port *c)
{
	int rc;

	if (strcspn(c->device, ",") >= CONF_BUS_NAME_MAX) {
		port_error(c, "device name is longer than %u characters", CONF_BUS_NAME_MAX - 1);
		return -EIO;
	}
	eal_log_begin();
	rc = device_probe(id, c->device);
	eal_log_end(rc < 0);
	if (rc < 0)
		explain_missing(c, -rc);
	return rc < 0 ? -EIO : 0;
}

// The largest mtu. Some drivers say it as the size of a frame only, which rte_eth_dev_configure()
// checks.
static uint32_t mtu_max(const struct conf_port *c, const struct rte_eth_dev_info *info)
{
	const uint32_t ethernet = RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;
	bool has_both = info->max_mtu != UINT16_MAX && info->max_rx_pktlen > info->max_mtu;

	if (has_both || conf_device_is_attached(c->device))
		return info->max_mtu;
	return RTE_MIN((uint32_t)info->max_mtu, info->max_rx_pktlen - ethernet);
}

// Workers have divided up the queues already.
static int queues_check(const struct port *p, const struct rte_eth_dev_info *info)
{
	if (p->n_rx <= info->max_rx_queues && p->n_tx <= info->max_tx_queues)
		return 0;
	port_error(p->conf,
		"device \"%s\" has %u RX and %u TX queues, but the port has %u and %u: restart "
		"culvertd",
		p->conf->device, info->max_rx_queues, info->max_tx_queues, p->n_rx, p->n_tx);
	return -EIO;
}

static void interface_note(struct port *p, unsigned int if_index)
{
	char name[IF_NAMESIZE];

	p->if_index = if_index;
	p->tap = if_index != 0 && if_indextoname(if_index, name) != NULL ? tap_find(name) : -1;
}

// Chooses how many queues to use: usually one for each worker.
static int queues_choose(struct port *p, const struct conf *conf, struct rte_eth_dev_info *info)
{
	const struct conf_port *c = p->conf;
	int rc = rte_eth_dev_info_get(p->id, info);

	if (rc < 0) {
		port_error(c, "cannot read the capabilities of device \"%s\": %s", c->device,
			strerror(-rc));
		return -EIO;
	}

	if (c->mtu > mtu_max(c, info)) {
		port_error(c, "mtu is %u, but device \"%s\" carries %u at most", c->mtu, c->device,
			mtu_max(c, info));
		return -EIO;
	}
	snprintf(p->driver, sizeof(p->driver), "%s", info->driver_name);
	interface_note(p, info->if_index);
	if (p->n_rx != 0)
		return queues_check(p, info);
	p->n_rx = c->rx_queues != 0
			  ? c->rx_queues
			  : (uint16_t)RTE_MIN(conf->n_workers, (unsigned int)info->max_rx_queues);
	p->n_tx = (uint16_t)RTE_MIN(conf->n_workers, (unsigned int)info->max_tx_queues);
	if (p->n_rx > info->max_rx_queues) {
		port_error(c, "rx_queues is %u, but device \"%s\" has %u", p->n_rx, c->device,
			info->max_rx_queues);
		return -EIO;
	}
	return 0;
}

// Drivers of packet sockets refuse more than Ethernet's usual size here, but carry what their
// frames have room for: the interface's own mtu counts, which iface_check() has looked at.
static uint16_t mtu_to_configure(const struct conf_port *c)
{
	return conf_device_is_attached(c->device) ? (uint16_t)RTE_MIN(c->mtu, RTE_ETHER_MTU)
						  : c->mtu;
}

// When the other end disconnects, this driver registers its interrupt handler whether wanted or
// not, but removes it at the end only if it was: otherwise DPDK aborts on its closed file
// descriptor.
static bool needs_link_interrupt(const struct rte_eth_dev_info *info)
{
	return strcmp(info->driver_name, "net_virtio_user") == 0 &&
	       (*info->dev_flags & RTE_ETH_DEV_INTR_LSC) != 0;
}

static bool is_vlan_of(const struct conf *conf, unsigned int port, const struct conf_port *parent)
{
	const struct conf_port *c = &conf->ports[port];

	return c->vlan != 0 && &conf->ports[c->parent] == parent;
}

static bool has_vlans(const struct conf *conf, const struct conf_port *parent)
{
	for (unsigned int i = 0; i < conf->n_ports; i++)
		if (is_vlan_of(conf, i, parent))
			return true;
	return false;
}

static struct rte_eth_conf eth_conf_of(
	struct port *p, const struct conf *conf, const struct rte_eth_dev_info *info)
{
	const struct port_use use = {
		.unprotected = p->conf->unprotected,
		.has_vlans = has_vlans(conf, p->conf),
		.jumbo = p->conf->mtu > RTE_ETHER_MTU,
		.n_rx = p->n_rx,
		.n_workers = conf->n_workers,
	};
	struct rte_eth_conf e = {
		.intr_conf.lsc = needs_link_interrupt(info),
		.intr_conf.rmv = (*info->dev_flags & RTE_ETH_DEV_INTR_RMV) != 0,
		.intr_conf.rxq = conf->idle == CONF_IDLE_INTERRUPT,
		.rxmode.mtu = mtu_to_configure(p->conf),
	};

	p->offloads = port_offloads_choose(info, &use);
	e.rxmode.offloads = p->offloads.rx;
	e.txmode.offloads = p->offloads.tx;
	if (p->offloads.rss != 0) {
		e.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		e.rx_adv_conf.rss_conf.rss_hf = p->offloads.rss;
		e.rx_adv_conf.rss_conf.rss_key = port_rss_key(info->hash_key_size);
		e.rx_adv_conf.rss_conf.rss_key_len = info->hash_key_size;
	}
	return e;
}

// With filters, which some devices have on whether asked to or not, they discard the frames of
// VLANs that are none of its ports. Priority tags are taken as far as the device can.
static int vlan_filters_set(const struct port *p, const struct conf *conf, uint64_t offloads)
{
	int rc = 0;

	if ((offloads & RTE_ETH_RX_OFFLOAD_VLAN_FILTER) == 0)
		return 0;
	rte_eth_dev_vlan_filter(p->id, 0, 1);
	for (unsigned int i = 0; i < conf->n_ports && rc == 0; i++)
		if (is_vlan_of(conf, i, p->conf))
			rc = rte_eth_dev_vlan_filter(p->id, conf->ports[i].vlan, 1);
	return rc;
}

int port_listen_to_all(const struct port *p)
{
	return rte_eth_allmulticast_enable(p->id) == 0 ? 0 : rte_eth_promiscuous_enable(p->id);
}

// Routing protocols of the host use groups that nobody tells the device.
static bool has_host(const struct conf *conf, const struct conf_port *c)
{
	bool has = c->host != NULL;

	for (unsigned int i = 0; i < conf->n_ports; i++)
		has |= is_vlan_of(conf, i, c) && conf->ports[i].host != NULL;
	return has;
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

// What a failed queue setup lacks.
static const char *queue_hint(const struct port *p, struct rte_mempool *pool)
{
	char framesz[8];

	if (strcmp(p->driver, "net_af_packet") == 0 &&
		device_arg(framesz, sizeof(framesz), p->conf->device, "framesz") &&
		strtoul(framesz, NULL, 10) > rte_pktmbuf_data_room_size(pool))
		return "framesz is larger than packet buffers: reduce it, or set a larger mtu";
	if (strcmp(p->driver, "net_af_xdp") == 0 &&
		pool->elt_size + pool->header_size > (uint32_t)sysconf(_SC_PAGESIZE))
		return "packet buffers are larger than a page: reduce the mtu of all ports";
	return "queue setup failed; is memory.size large enough?";
}

// A port keeps its link address when it gets another device: neighbours and the link-local address
// depend on it. A device that cannot be given one takes in all frames: then it need not.
static int mac_set(const struct port *p)
{
	struct rte_ether_addr mac = p->conf->mac_set ? p->conf->mac : p->mac, own;
	int rc = rte_eth_macaddr_get(p->id, &own);

	if (rc < 0 || rte_is_zero_ether_addr(&mac) || rte_is_same_ether_addr(&mac, &own))
		return rc;
	rc = rte_eth_dev_default_mac_addr_set(p->id, &mac);
	if (rc == 0 || p->conf->mac_set)
		return rc;
	rc = rte_eth_promiscuous_enable(p->id);
	return rc == -ENOTSUP ? 0 : rc;
}

// Returns what failed, NULL if nothing did; *rc is the error.
static const char *start(int *rc, struct port *p, const struct conf *conf,
	const struct rte_eth_dev_info *info, struct rte_mempool *pool)
{
	const struct conf_port *c = p->conf;
	struct rte_eth_conf e = eth_conf_of(p, conf, info);
	const char *why;

	*rc = port_flow_isolate(p->id, c);
	if (*rc < 0)
		return "isolated: it cannot be shared with the kernel";
	*rc = rte_eth_dev_configure(p->id, p->n_rx, p->n_tx, &e);
	if (*rc < 0)
		return "configuration failed; does it support this mtu and number of queues?";
	if (!conf_device_is_attached(c->device))
		*rc = rte_eth_dev_set_mtu(p->id, c->mtu);
	if (*rc < 0 && *rc != -ENOTSUP)
		return "mtu: the device does not support this value";
	*rc = queues_setup(p, pool);
	if (*rc < 0)
		return queue_hint(p, pool);
	*rc = mac_set(p);
	if (*rc < 0)
		return "mac: the device does not accept this address";
	*rc = rte_eth_dev_start(p->id);
	if (*rc < 0)
		return "start failed";
	*rc = vlan_filters_set(p, conf, e.rxmode.offloads);
	if (*rc < 0)
		return "its filter does not accept the VLANs";
	*rc = has_host(conf, c) ? port_listen_to_all(p) : 0;
	if (*rc < 0)
		return "host: it cannot receive all multicast frames";
	p->inserts_vlan = (e.txmode.offloads & RTE_ETH_TX_OFFLOAD_VLAN_INSERT) != 0;
	if (rte_is_zero_ether_addr(&p->mac))
		*rc = rte_eth_macaddr_get(p->id, &p->mac);
	if (*rc < 0)
		return "cannot read its MAC address";
	*rc = port_flow_start(&p->rules, &(struct flow_device){p->id, p->n_rx, info->hash_key_size},
		&p->offloads, conf, c, &why);
	return *rc < 0 ? why : NULL;
}

static int device_open(struct port *p, const struct conf *conf, struct rte_mempool *pool)
{
	const struct conf_port *c = p->conf;
	struct rte_eth_dev_info info;
	const char *failed;
	int rc;

	p->rules = NULL; // those of an earlier device have been freed with it
	if (device_find(&p->id, c) < 0)
		return -EIO;
	if (queues_choose(p, conf, &info) < 0) {
		port_close(p);
		return -EIO;
	}
	eal_log_begin();
	failed = start(&rc, p, conf, &info, pool);
	eal_log_end(failed != NULL);
	if (failed == NULL)
		return 0;
	if (!device_socket_explain(c))
		port_error(c, "device \"%s\": %s (%s)", c->device, failed, strerror(-rc));
	port_close(p);
	return -EIO;
}

void port_expect(struct port *p, const struct conf *conf, const struct conf_port *c)
{
	unsigned int queues = device_queues(c->device);

	p->conf = c;
	p->n_rx = (uint16_t)(c->rx_queues != 0 ? c->rx_queues : RTE_MIN(conf->n_workers, queues));
	p->n_tx = (uint16_t)RTE_MIN(conf->n_workers, queues);
	p->mac = c->mac;
	if (!c->mac_set)
		rte_eth_random_addr(p->mac.addr_bytes);
}

int port_open(struct port *p, const struct conf *conf, const struct conf_port *c,
	struct rte_mempool *pool)
{
	struct vhost_peer peer;
	char path[DEVICE_SOCKET_SIZE];
	bool waits = device_socket_waits(path, c->device);
	int rc;

	p->conf = c;
	p->patience = PATIENCE;
	if (device_socket_prepare(c) < 0 || iface_hide(conf, c) < 0)
		return -EIO;
	rc = waits ? vhost_peer_start(&peer, path) : 0;
	if (rc < 0) {
		port_error(c, "cannot start a thread: %s", strerror(-rc));
		return -EIO;
	}
	rc = device_open(p, conf, pool);
	if (waits) {
		eal_log_begin(); // the driver notices in its own thread, with errors
		vhost_peer_stop(&peer);
		rte_delay_us_sleep(NOTICE_US);
		eal_log_end(false);
	}
	if (waits && rc == 0)
		log_info("port \"%s\": a vhost backend may connect to %s at any time", c->name,
			path);
	return rc;
}

void port_adopt(struct port *p, const struct port *opened)
{
	p->id = opened->id;
	p->if_index = opened->if_index;
	p->tap = opened->tap;
	memcpy(p->driver, opened->driver, sizeof(p->driver));
	p->inserts_vlan = opened->inserts_vlan;
	p->offloads = opened->offloads;
	p->rules = opened->rules;
	p->patience = opened->patience;
}

// By ethdev's number: a device may say so before it is known which port has it. Set by DPDK's
// threads, cleared by the thread that closes the device.
static atomic_bool lost[RTE_MAX_ETHPORTS];

void port_lose(uint16_t id)
{
	if (id < RTE_MAX_ETHPORTS)
		atomic_store_explicit(&lost[id], true, memory_order_release);
}

bool port_says_lost(const struct port *p)
{
	return atomic_load_explicit(&lost[p->id], memory_order_acquire);
}

// Frames without a tag are for the port of the device, if it has an address.
static struct vlan_map *vlan_map_new(const struct port *p, uint16_t number)
{
	struct vlan_map *map = malloc(sizeof(*map));

	if (map == NULL)
		return NULL;
	for (unsigned int i = 0; i < VLAN_IDS; i++)
		map->port[i] = VLAN_NONE;
	if (p->conf->n_addrs > 0)
		map->port[0] = number;
	return map;
}

int ports_add_vlans(struct port ports[], const struct conf *conf)
{
	for (unsigned int i = 0; i < conf->n_ports; i++) {
		const struct conf_port *c = &conf->ports[i];
		struct port *parent = &ports[c->parent];

		if (c->vlan == 0)
			continue;
		if (parent->vlans == NULL)
			parent->vlans = vlan_map_new(parent, (uint16_t)c->parent);
		if (parent->vlans == NULL)
			return -ENOMEM;
		parent->vlans->port[c->vlan] = (uint16_t)i;
		ports[i] = (struct port){
			.conf = c,
			.next_vlan = parent->next_vlan,
			.parent = parent,
			.vlan = c->vlan,
		};
		parent->next_vlan = &ports[i];
	}
	return 0;
}

void port_close(const struct port *p)
{
	eal_log_begin(); // errors of a device that is gone
	port_rules_free(p->rules);
	device_close(p->id);
	atomic_store_explicit(&lost[p->id], false, memory_order_release);
	eal_log_end(false);
}

void port_free(struct port *p)
{
	free(p->vlans);
	p->vlans = NULL;
}
