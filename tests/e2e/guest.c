// SPDX-License-Identifier: BSD-3-Clause
// A virtual machine's network card between this network namespace and a vhost port:
//
//   guest SOCKET INTERFACE
//
// makes the TAP device INTERFACE, to which the kernel leaves large TCP segments and checksums, and
// passes its frames on by virtio_user as virtio_net passes those of a virtual machine: with the
// same header.
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_ethdev.h>

#define BUFFERS   8191
#define FRAME_MAX 65549
#define CHUNK     2000
#define BURST     32

static struct rte_mempool *pool;

static void check(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

static int tap_open(const char *name)
{
	struct ifreq r = {.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", name);
	check(fd >= 0 && ioctl(fd, TUNSETIFF, &r) == 0, "TAP");
	check(ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6) == 0, "offloads");
	return fd;
}

static uint16_t card_open(const char *socket)
{
	char args[256];
	struct rte_eth_conf conf = {
		.txmode.offloads = RTE_ETH_TX_OFFLOAD_TCP_TSO | RTE_ETH_TX_OFFLOAD_TCP_CKSUM |
				   RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_MULTI_SEGS};
	uint16_t id;

	snprintf(args, sizeof(args), "path=%s,queue_size=1024", socket);
	check(rte_eal_hotplug_add("vdev", "net_virtio_user0", args) == 0, "virtio_user");
	check(rte_eth_dev_get_port_by_name("net_virtio_user0", &id) == 0, "port");
	check(rte_eth_dev_configure(id, 1, 1, &conf) == 0, "configure");
	check(rte_eth_rx_queue_setup(id, 0, 1024, SOCKET_ID_ANY, NULL, pool) == 0, "rx");
	check(rte_eth_tx_queue_setup(id, 0, 1024, SOCKET_ID_ANY, NULL) == 0, "tx");
	check(rte_eth_dev_start(id) == 0, "start");
	return id;
}

static struct rte_mbuf *chain_of(const uint8_t *from, size_t len)
{
	struct rte_mbuf *head = NULL, **next = &head;

	for (size_t done = 0, n; done < len; done += n, next = &(*next)->next) {
		n = RTE_MIN(len - done, (size_t)CHUNK);
		*next = rte_pktmbuf_alloc(pool);
		check(*next != NULL, "buffers");
		memcpy(rte_pktmbuf_append(*next, (uint16_t)n), from + done, n);
		if (done == 0)
			continue;
		head->nb_segs++;
		head->pkt_len += (uint32_t)n;
	}
	return head;
}

// The work that the kernel has left to the card.
static void offload(struct rte_mbuf *m, const struct virtio_net_hdr *h, bool v4)
{
	if ((h->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) == 0)
		return;
	m->l2_len = RTE_ETHER_HDR_LEN;
	m->l3_len = (uint16_t)(h->csum_start - RTE_ETHER_HDR_LEN) & 0x1ff;
	m->ol_flags |= v4 ? RTE_MBUF_F_TX_IPV4 : RTE_MBUF_F_TX_IPV6;
	m->ol_flags |= h->csum_offset == 6 ? RTE_MBUF_F_TX_UDP_CKSUM : RTE_MBUF_F_TX_TCP_CKSUM;
	if (h->gso_type == VIRTIO_NET_HDR_GSO_NONE)
		return;
	m->ol_flags |= RTE_MBUF_F_TX_TCP_SEG;
	m->l4_len = (uint8_t)(h->hdr_len - h->csum_start);
	m->tso_segsz = h->gso_size;
}

static void tap_to_card(int tap, uint16_t card)
{
	static uint8_t in[sizeof(struct virtio_net_hdr) + FRAME_MAX];

	for (unsigned int i = 0; i < BURST; i++) {
		struct virtio_net_hdr h;
		ssize_t len = read(tap, in, sizeof(in));
		struct rte_mbuf *m;

		if (len <= (ssize_t)sizeof(h))
			return;
		memcpy(&h, in, sizeof(h));
		m = chain_of(in + sizeof(h), (size_t)len - sizeof(h));
		offload(m, &h, in[sizeof(h) + 12] == 0x08);
		if (rte_eth_tx_burst(card, 0, &m, 1) == 0)
			rte_pktmbuf_free(m);
	}
}

static unsigned int card_to_tap(uint16_t card, int tap)
{
	struct rte_mbuf *m[BURST];
	uint16_t n = rte_eth_rx_burst(card, 0, m, BURST);

	for (uint16_t i = 0; i < n; i++) {
		struct virtio_net_hdr none = {0};
		struct iovec v[] = {{&none, sizeof(none)},
			{rte_pktmbuf_mtod(m[i], void *), rte_pktmbuf_data_len(m[i])}};

		if (writev(tap, v, 2) < 0)
			perror("TAP");
		rte_pktmbuf_free(m[i]);
	}
	return n;
}

int main(int argc, char **argv)
{
	char *eal[] = {"guest", "--no-huge", "-m", "128", "--no-pci", "--no-telemetry",
		"--no-shconf", "--iova-mode=va", "--log-level=*:error", "--lcores=0@0-1"};
	uint16_t card;
	int tap;

	if (argc != 3 || rte_eal_init(RTE_DIM(eal), eal) < 0)
		return 2;
	pool = rte_pktmbuf_pool_create(
		"guest", BUFFERS, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	check(pool != NULL, "pool");
	tap = tap_open(argv[2]);
	card = card_open(argv[1]);
	puts("ready");
	fflush(stdout);
	for (;;) {
		tap_to_card(tap, card);
		if (card_to_tap(card, tap) == 0)
			poll(&(struct pollfd){.fd = tap, .events = POLLIN}, 1, 1);
	}
}
