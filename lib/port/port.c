// SPDX-License-Identifier: BSD-3-Clause
#include "port.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "bond.h"
#include "device_probe.h"
#include "device_socket.h"
#include "eal_log.h"
#include "iface.h"
#include "iface_hide.h"
#include "port_log.h"
#include "vhost_peer.h"

#define DESCRIPTORS 1024  // per queue, where the device allows
#define VIRTIO_MAX  32768 // descriptors of a ring of virtio
#define SENT_MAX    64    // buffers that have been sent and are not freed yet: a burst of a worker
#define NOTICE_US   10000 // for the driver's own thread to notice that its peer left

// Chooses how many queues to use: usually one for each worker.
static int queues_choose(
	struct port *p, const struct conf *conf, const struct rte_eth_dev_info *info)
{
	const struct conf_port *c = p->conf;

	if (p->n_rx != 0)
		return device_queues_check(info, c, "device", p->n_rx, p->n_tx);
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

// Drivers of packet sockets refuse more than Ethernet's usual size here, but carry packets for
// which their frames have room: the interface's own mtu counts, which iface_check() has checked.
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

// Whether the other end may leave large segments to be cut. Cards that merge received segments
// (LRO) lose their sizes.
static bool has_tso(const struct conf_port *c, const struct rte_eth_dev_info *info)
{
	bool is_vhost = device_is_vhost(c->device);
	bool is_virtio = strncmp(info->driver_name, "net_virtio", strlen("net_virtio")) == 0;

	if (c->tso && !is_vhost &&
		(!is_virtio || (info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_TCP_LRO) == 0))
		port_warn(c, "tso: device \"%s\" delivers no large segments%s", c->device,
			is_virtio ? ", because its other end does not offer them" : "");
	return c->tso && (is_vhost || is_virtio);
}

static struct rte_eth_conf eth_conf_of(
	struct port *p, const struct conf *conf, const struct rte_eth_dev_info *info)
{
	const struct port_use use = {
		.unprotected = p->conf->unprotected,
		.has_vlans = p->conf->takes_vlans,
		.jumbo = p->conf->mtu > RTE_ETHER_MTU,
		.tso = has_tso(p->conf, info),
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

int port_listen_to_all(const struct port *p)
{
	int rc = p->bond != NULL ? bond_listen_to_all(p->bond) : 0;

	return rc == 0 ? device_listen_to_all(p->id) : rc;
}

// By default net_virtio frees the buffers that it has sent by a split ring when nearly all of the
// ring is theirs, all at once: by then they have left the nearest caches, and are too many for the
// thread's cache of the pool. The threshold counts the free rest of the ring, whose size is not
// known: the driver refuses a larger one, and logs an error each time.
static int virtio_tx_queue_setup(const struct port *p, uint16_t queue, uint16_t n_txd)
{
	const int type = rte_log_register("pmd.net.virtio.driver");
	const int level = rte_log_get_level((uint32_t)type);
	struct rte_eth_txconf conf = {0};
	int rc = -EINVAL;

	rte_log_set_level((uint32_t)type, RTE_LOG_CRIT);
	for (unsigned int n = VIRTIO_MAX; rc == -EINVAL && n > SENT_MAX; n /= 2) {
		conf.tx_free_thresh = (uint16_t)(n - SENT_MAX);
		rc = rte_eth_tx_queue_setup(p->id, queue, n_txd, SOCKET_ID_ANY, &conf);
	}
	rte_log_set_level((uint32_t)type, (uint32_t)level);
	return rc;
}

// Whether the driver is net_virtio without vectorized=1, which gives the threshold another meaning
// in a packed ring.
static bool has_virtio_threshold(const struct port *p)
{
	return strncmp(p->driver, "net_virtio", strlen("net_virtio")) == 0 &&
	       strstr(p->conf->device, "vectorized=1") == NULL;
}

static int tx_queue_setup(const struct port *p, uint16_t queue, uint16_t n_txd)
{
	int rc = -EINVAL;

	if (has_virtio_threshold(p))
		rc = virtio_tx_queue_setup(p, queue, n_txd);
	return rc == -EINVAL ? rte_eth_tx_queue_setup(p->id, queue, n_txd, SOCKET_ID_ANY, NULL)
			     : rc;
}

static int queues_setup(struct port *p, struct rte_mempool *pool)
{
	uint16_t n_rxd = DESCRIPTORS, n_txd = DESCRIPTORS;
	int rc = rte_eth_dev_adjust_nb_rx_tx_desc(p->id, &n_rxd, &n_txd);

	for (uint16_t q = 0; rc == 0 && q < p->n_rx; q++)
		rc = rte_eth_rx_queue_setup(p->id, q, n_rxd, SOCKET_ID_ANY, NULL, pool);
	for (uint16_t q = 0; rc == 0 && q < p->n_tx; q++)
		rc = tx_queue_setup(p, q, n_txd);
	return rc;
}

// The reason of a failed queue setup.
static const char *queue_hint(const struct port *p, struct rte_mempool *pool)
{
	char framesz[8];

	if (strcmp(p->driver, "net_af_packet") == 0 &&
		conf_device_arg(framesz, sizeof(framesz), p->conf->device, "framesz") &&
		strtoul(framesz, NULL, 10) + RTE_PKTMBUF_HEADROOM >
			rte_pktmbuf_data_room_size(pool))
		return "framesz is larger than packet buffers: reduce it, or set a larger mtu";
	if (strcmp(p->driver, "net_af_xdp") == 0 &&
		pool->header_size + pool->elt_size + pool->trailer_size >
			(uint32_t)sysconf(_SC_PAGESIZE))
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

// Returns the failed step, NULL if there is none; *rc is the error.
static const char *start(int *rc, struct port *p, const struct conf *conf,
	const struct rte_eth_dev_info *info, struct rte_mempool *pool)
{
	const struct conf_port *c = p->conf;
	struct rte_eth_conf e = eth_conf_of(p, conf, info);
	struct rte_flow_error error;
	const char *why;

	*rc = c->isolated ? rte_flow_isolate(p->id, 1, &error) : 0; // packets that no rule matches
	if (*rc < 0)
		return "isolated: it cannot be shared with the kernel";
	*rc = rte_eth_dev_configure(p->id, p->n_rx, p->n_tx, &e);
	if (*rc < 0)
		return "configuration failed; does it support this mtu and number of queues?";
	if (!conf_device_is_attached(c->device) && p->bond == NULL) // members get it at the start
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
	*rc = port_vlan_filters_set(p, conf);
	if (*rc < 0)
		return "its filter does not accept the VLANs";
	*rc = port_needs_all_groups(conf, c) ? port_listen_to_all(p) : 0;
	if (*rc < 0)
		return "it cannot receive all multicast frames, as host and LACP need";
	p->inserts_vlan = (e.txmode.offloads & RTE_ETH_TX_OFFLOAD_VLAN_INSERT) != 0;
	if (rte_is_zero_ether_addr(&p->mac))
		*rc = rte_eth_macaddr_get(p->id, &p->mac);
	if (*rc < 0)
		return "cannot read its MAC address";
	*rc = port_rules_start(&p->rules,
		&(struct flow_device){p->id, p->n_rx, info->hash_key_size}, &p->offloads, conf, c,
		&why);
	return *rc < 0 ? why : NULL;
}

// Whether a socket of one of the devices is the cause, which is logged.
static bool sockets_explain(const struct conf *conf, const struct conf_port *c)
{
	for (unsigned int i = 0; i < conf_port_n_devices(c); i++)
		if (device_socket_explain(&conf->devices[c->devices + i]))
			return true;
	return false;
}

// Returns 0, or -EIO after a message.
static int ethdev_find(struct port *p, const struct conf *conf)
{
	const struct conf_port *c = p->conf;

	if (p->bond == NULL)
		return device_find(&p->id, c);
	return bond_open(&p->id, p->bond,
		&(struct bond_params){.conf = conf,
			.c = c,
			.mac = c->mac_set ? c->mac : p->mac,
			.n_rx = p->n_rx,
			.n_tx = p->n_tx});
}

// Returns 0, or -EIO after a message.
static int ethdev_identify(struct rte_eth_dev_info *info, const struct port *p)
{
	if (device_identify(info, p->id, p->conf) < 0)
		return -EIO;
	if (p->bond != NULL)
		bond_limit(info, p->bond);
	return 0;
}

static int device_open(struct port *p, const struct conf *conf, struct rte_mempool *pool)
{
	const struct conf_port *c = p->conf;
	struct rte_eth_dev_info info;
	const char *failed;
	int rc;

	p->rules = NULL; // those of an earlier device have been freed with it
	if (ethdev_find(p, conf) < 0)
		return -EIO;
	if (ethdev_identify(&info, p) < 0 || queues_choose(p, conf, &info) < 0) {
		port_close(p);
		return -EIO;
	}
	snprintf(p->driver, sizeof(p->driver), "%s", info.driver_name);
	device_watch_start(&p->watch, info.if_index);
	p->n_member_ids = p->bond != NULL ? bond_ids(p->member_id, p->bond) : 0;
	eal_log_begin();
	failed = start(&rc, p, conf, &info, pool);
	eal_log_end(failed != NULL);
	if (failed == NULL) {
		if (p->bond != NULL)
			bond_ready();
		vhost_link_settle(p->id);
		return 0;
	}
	if (!sockets_explain(conf, c))
		port_error(c, "device \"%s\": %s (%s)", c->device, failed, strerror(-rc));
	port_close(p);
	return -EIO;
}

static bool port_returns(const struct conf *conf, const struct conf_port *c)
{
	for (unsigned int i = 0; i < conf_port_n_devices(c); i++)
		if (!device_returns(conf->devices[c->devices + i].device))
			return false;
	return true;
}

static void port_configure(struct port *p, const struct conf *conf, const struct conf_port *c)
{
	p->conf = c;
	p->is_attached = conf_device_is_attached(c->device);
	p->returns = port_returns(conf, c);
}

void port_expect(struct port *p, const struct conf *conf, const struct conf_port *c)
{
	unsigned int queues = UINT16_MAX;

	for (unsigned int i = 0; i < conf_port_n_devices(c); i++)
		queues = RTE_MIN(queues, device_queues(conf->devices[c->devices + i].device));
	port_configure(p, conf, c);
	p->n_rx = (uint16_t)(c->rx_queues != 0 ? c->rx_queues : RTE_MIN(conf->n_workers, queues));
	p->n_tx = (uint16_t)RTE_MIN(conf->n_workers, queues);
	p->mac = c->mac;
	if (!c->mac_set)
		rte_eth_random_addr(p->mac.addr_bytes);
}

// Starts the peers that drivers wait for while they open the devices of a port.
static int peers_start(struct vhost_peer peer[CONF_MEMBERS_MAX], unsigned int *n,
	const struct conf *conf, const struct conf_port *c)
{
	char path[DEVICE_SOCKET_SIZE];
	int rc = 0;

	*n = 0;
	for (unsigned int i = 0; i < conf_port_n_devices(c) && rc == 0; i++) {
		if (!device_socket_waits(path, conf->devices[c->devices + i].device))
			continue;
		rc = vhost_peer_start(&peer[*n], path);
		*n += rc == 0;
	}
	if (rc < 0)
		port_error(c, "cannot start a thread: %s", strerror(-rc));
	return rc;
}

static void peers_stop(struct vhost_peer peer[], unsigned int n)
{
	if (n == 0)
		return;
	eal_log_begin(); // the driver notices in its own thread, with errors
	for (unsigned int i = 0; i < n; i++)
		vhost_peer_stop(&peer[i]);
	rte_delay_us_sleep(NOTICE_US);
	eal_log_end(false);
}

int port_open(struct port *p, const struct conf *conf, const struct conf_port *c,
	struct rte_mempool *pool)
{
	struct vhost_peer peer[CONF_MEMBERS_MAX];
	unsigned int n;
	int rc = 0;

	port_configure(p, conf, c);
	p->n_filter = 0;
	for (unsigned int i = 0; i < conf_port_n_devices(c); i++)
		if (device_socket_prepare(&conf->devices[c->devices + i]) < 0)
			return -EIO;
	if (iface_hide(conf, c) < 0)
		return -EIO;
	rc = peers_start(peer, &n, conf, c);
	if (rc == 0)
		rc = device_open(p, conf, pool);
	peers_stop(peer, n);
	for (unsigned int i = 0; i < n && rc == 0; i++)
		log_info("port \"%s\": a vhost backend may connect to %s at any time", c->name,
			peer[i].path);
	return rc < 0 ? -EIO : 0;
}

void port_adopt(struct port *p, const struct port *opened)
{
	p->id = opened->id;
	p->watch = opened->watch;
	memcpy(p->driver, opened->driver, sizeof(p->driver));
	p->inserts_vlan = opened->inserts_vlan;
	memcpy(p->filter, opened->filter, sizeof(p->filter));
	p->n_filter = opened->n_filter;
	memcpy(p->member_id, opened->member_id, sizeof(p->member_id));
	p->n_member_ids = opened->n_member_ids;
	p->offloads = opened->offloads;
	p->rules = opened->rules;
	p->returns = opened->returns;
}

void port_close(const struct port *p)
{
	eal_log_begin(); // errors of a device that is gone
	port_rules_free(p->rules);
	device_close(p->id);
	device_find_again(p->id);
	eal_log_end(false);
	if (p->bond != NULL)
		bond_close(p->bond);
}

void port_free(struct port *p)
{
	free(p->vlans);
	free(p->bond);
	p->vlans = NULL;
	p->bond = NULL;
}

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

bool port_is_present(const struct conf *conf, const struct conf_port *c)
{
	for (unsigned int i = 0; i < conf_port_n_devices(c); i++)
		if (device_is_present(conf->devices[c->devices + i].device))
			return true;
	return false;
}
