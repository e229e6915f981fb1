// SPDX-License-Identifier: BSD-3-Clause
// Offloads chosen from those of a device; that checksums which the other end of a vhost or virtio
// device leaves to this one are complete when the gateway receives the packet; and that drivers
// mark large segments on ports with tso.
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "eal.h"
#include "port_offload.h"
#include "test.h"

#define ALL UINT64_MAX
// Flags that stay of every frame; and that of the hash, where nobody reads it.
#define STAY   (RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_RX_L4_CKSUM_MASK)
#define UNREAD RTE_MBUF_F_RX_RSS_HASH

static struct port_offloads choose(uint64_t rx, uint64_t rss, struct port_use use)
{
	return port_offloads_choose(&(struct rte_eth_dev_info){.rx_offload_capa = rx,
					    .tx_offload_capa = ALL,
					    .flow_type_rss_offloads = rss},
		&use);
}

static void test_nothing_offered(void **state)
{
	struct port_offloads o =
		choose(0, 0, (struct port_use){.has_vlans = true, .n_rx = 4, .n_workers = 4});

	(void)state;
	assert_int_equal(o.rx, 0);
	assert_int_equal(o.rss, 0);
	assert_int_equal(o.mbuf_flags, STAY | UNREAD);
}

// No request of a peer reaches another device.
static void test_all_offered(void **state)
{
	struct port_offloads o = choose(ALL, ALL, (struct port_use){.n_rx = 1, .n_workers = 1});

	(void)state;
	assert_int_equal(o.rx, RTE_ETH_RX_OFFLOAD_IPV4_CKSUM);
	assert_int_equal(o.tx, RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE);
	assert_int_equal(o.rss, 0);
	assert_int_equal(o.mbuf_flags, RTE_MBUF_F_RX_IP_CKSUM_MASK | STAY | UNREAD);
	o = choose(ALL, ALL,
		(struct port_use){.jumbo = true, .has_vlans = true, .n_rx = 1, .n_workers = 1});
	assert_int_equal(o.rx, RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_SCATTER |
				       RTE_ETH_RX_OFFLOAD_VLAN_STRIP |
				       RTE_ETH_RX_OFFLOAD_VLAN_FILTER);
	assert_int_equal(o.tx, RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE | RTE_ETH_TX_OFFLOAD_VLAN_INSERT);
}

// The hash of a frame is used where a port has fewer queues than there are workers; on the
// unprotected side only if it covers the SPI. Elsewhere it stays, and nobody reads it.
static void test_rss(void **state)
{
	const uint64_t hash = RTE_ETH_RX_OFFLOAD_RSS_HASH, ip = RTE_ETH_RSS_IPV4;
	const struct {
		uint64_t rx, rss;
		struct port_use use;
		uint64_t chosen;
		bool hash;
	} cases[] = {
		{hash, ip, {.n_rx = 1, .n_workers = 1}, 0, true},
		{hash, ip, {.n_rx = 1, .n_workers = 2}, ip, true},
		{0, ip, {.n_rx = 1, .n_workers = 2}, 0, false},
		{0, ip, {.n_rx = 2, .n_workers = 4}, ip, false},
		{hash, ip, {.n_rx = 2, .n_workers = 4}, ip, true},
		{hash, ip, {.n_rx = 4, .n_workers = 4}, ip, true},
		{hash, ip, {.n_rx = 4, .n_workers = 2}, ip, true},
		{hash, ip, {.unprotected = true, .n_rx = 2, .n_workers = 4}, ip, false},
		{hash, ip | RTE_ETH_RSS_ESP, {.unprotected = true, .n_rx = 2, .n_workers = 4},
			ip | RTE_ETH_RSS_ESP, true},
		{hash, RTE_ETH_RSS_L2_PAYLOAD, {.n_rx = 2, .n_workers = 4}, 0, false},
	};

	(void)state;
	for (unsigned int i = 0; i < COUNT_OF(cases); i++) {
		struct port_offloads o = choose(cases[i].rx, cases[i].rss, cases[i].use);

		assert_int_equal(o.rss, cases[i].chosen);
		assert_int_equal(port_offloads_spread_esp(&o), (o.rss & RTE_ETH_RSS_ESP) != 0);
		assert_int_equal((o.mbuf_flags & RTE_MBUF_F_RX_RSS_HASH) != 0, cases[i].hash);
	}
}

static void test_rss_key(void **state)
{
	static const uint8_t none[52];
	const uint8_t *key = port_rss_key(sizeof(none));

	(void)state;
	assert_non_null(key);
	assert_memory_not_equal(key, none, sizeof(none));
	assert_ptr_equal(port_rss_key(40), key);
	assert_null(port_rss_key(0));
	assert_null(port_rss_key(4096));
}

// --- vhost and virtio ---

#define PAYLOAD 99
#define LEN                                                                                        \
	(sizeof(struct rte_ether_hdr) + sizeof(struct rte_ipv4_hdr) + sizeof(struct rte_udp_hdr) + \
		PAYLOAD)

static struct port_offloads offloads; // of the port

// A device with the offloads of a port, or with those of a sender.
static uint16_t device_start(const char *name, const char *args, uint64_t sender, bool tso)
{
	const struct port_use use = {.tso = tso, .n_rx = 1, .n_workers = 1};
	struct rte_eth_conf conf = {0};
	struct rte_eth_dev_info info;
	uint16_t id;

	assert_int_equal(rte_eal_hotplug_add("vdev", name, args), 0);
	assert_int_equal(rte_eth_dev_get_port_by_name(name, &id), 0);
	assert_int_equal(rte_eth_dev_info_get(id, &info), 0);
	if (sender != 0) {
		conf.txmode.offloads = info.tx_offload_capa & sender;
		assert_int_not_equal(conf.txmode.offloads, 0);
	} else {
		offloads = port_offloads_choose(&info, &use);
		conf.rxmode.offloads = offloads.rx;
	}
	assert_int_equal(rte_eth_dev_configure(id, 1, 1, &conf), 0);
	assert_int_equal(rte_eth_rx_queue_setup(id, 0, 32, SOCKET_ID_ANY, NULL, eal_pool), 0);
	assert_int_equal(rte_eth_tx_queue_setup(id, 0, 32, SOCKET_ID_ANY, NULL), 0);
	assert_int_equal(rte_eth_dev_start(id), 0);
	return id;
}

// The two ends of a socket, of which the port is one and a sender with these offloads the other.
struct ends {
	char dir[32], args[64];
	uint16_t vhost, virtio;
	bool port_is_vhost;
};

static void ends_start(struct ends *e, bool port_is_vhost, uint64_t sender, bool tso)
{
	*e = (struct ends){.dir = "/tmp/culvert-test-XXXXXX", .port_is_vhost = port_is_vhost};
	assert_non_null(mkdtemp(e->dir));
	snprintf(e->args, sizeof(e->args), "iface=%s/s,tso=%d", e->dir, tso);
	e->vhost = device_start("net_vhost0", e->args, port_is_vhost ? 0 : sender, tso);
	snprintf(e->args, sizeof(e->args), "path=%s/s", e->dir);
	e->virtio = device_start("net_virtio_user0", e->args, port_is_vhost ? sender : 0, tso);
}

static void ends_stop(struct ends *e)
{
	rte_eth_dev_stop(e->virtio);
	rte_eth_dev_stop(e->vhost);
	assert_int_equal(rte_eal_hotplug_remove("vdev", "net_virtio_user0"), 0);
	assert_int_equal(rte_eal_hotplug_remove("vdev", "net_vhost0"), 0);
	unlink(e->args + strlen("path="));
	assert_int_equal(rmdir(e->dir), 0);
}

static struct rte_mbuf *datagram(void)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(eal_pool);
	struct rte_ether_hdr *eth;
	struct rte_ipv4_hdr *ip;
	struct rte_udp_hdr *udp;

	assert_non_null(m);
	eth = (struct rte_ether_hdr *)rte_pktmbuf_append(m, LEN);
	memset(eth, 0, LEN);
	eth->ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4);
	ip = (struct rte_ipv4_hdr *)(eth + 1);
	ip->version_ihl = RTE_IPV4_VHL_DEF;
	ip->total_length = rte_cpu_to_be_16(LEN - sizeof(*eth));
	ip->time_to_live = 64;
	ip->next_proto_id = IPPROTO_UDP;
	ip->src_addr = RTE_BE32(RTE_IPV4(10, 1, 0, 2));
	ip->dst_addr = RTE_BE32(RTE_IPV4(10, 2, 0, 2));
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	udp = (struct rte_udp_hdr *)(ip + 1);
	udp->src_port = RTE_BE16(1000);
	udp->dst_port = RTE_BE16(53);
	udp->dgram_len = rte_cpu_to_be_16(sizeof(*udp) + PAYLOAD);
	for (unsigned int i = 0; i < PAYLOAD; i++)
		((uint8_t *)(udp + 1))[i] = (uint8_t)(i * 7);
	return m;
}

// Leaves the checksum to the receiver.
static void make_partial(struct rte_mbuf *m)
{
	struct rte_ipv4_hdr *ip =
		rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, sizeof(struct rte_ether_hdr));
	struct rte_udp_hdr *udp = (struct rte_udp_hdr *)(ip + 1);

	m->l2_len = sizeof(struct rte_ether_hdr);
	m->l3_len = sizeof(*ip);
	m->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_UDP_CKSUM;
	udp->dgram_cksum = rte_ipv4_phdr_cksum(ip, m->ol_flags);
}

// The sum of the datagram with its pseudo header: RFC 768, word by word.
static uint16_t udp_sum(const uint8_t *ip)
{
	const uint8_t *udp = ip + sizeof(struct rte_ipv4_hdr);
	uint32_t len = sizeof(struct rte_udp_hdr) + PAYLOAD, sum = IPPROTO_UDP + len;

	for (unsigned int i = 12; i < 20; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	for (unsigned int i = 0; i < len; i++)
		sum += (uint32_t)udp[i] << (i % 2 == 0 ? 8 : 0);
	while (sum > UINT16_MAX)
		sum = (sum & UINT16_MAX) + (sum >> 16);
	return (uint16_t)sum;
}

// Sends it to the port.
static struct rte_mbuf *receive(const struct ends *e, struct rte_mbuf *m)
{
	const uint16_t from = e->port_is_vhost ? e->virtio : e->vhost,
		       to = e->port_is_vhost ? e->vhost : e->virtio;
	struct rte_mbuf *received = NULL;

	for (unsigned int i = 0; i < 20000 && m != NULL; i++)
		if (rte_eth_tx_burst(from, 0, &m, 1) == 1)
			m = NULL;
		else
			usleep(1000);
	assert_null(m);
	for (unsigned int i = 0; i < 20000; i++) {
		if (rte_eth_rx_burst(to, 0, &received, 1) == 1)
			return received;
		usleep(1000);
	}
	fail_msg("nothing was received");
	return NULL;
}

// The port is either end; the sender at the other one leaves the checksum of its datagram to the
// receiver if it may.
static void test_partial_checksum(void **state)
{
	(void)state;
	for (unsigned int port_is_vhost = 0; port_is_vhost < 2; port_is_vhost++) {
		struct rte_mbuf *m = datagram();
		struct ends e;

		ends_start(&e, port_is_vhost, RTE_ETH_TX_OFFLOAD_UDP_CKSUM, false);
		make_partial(m);
		assert_int_not_equal(
			udp_sum(rte_pktmbuf_mtod_offset(m, uint8_t *, 14)), UINT16_MAX);
		m = receive(&e, m);
		assert_int_equal(m->pkt_len, LEN);
		assert_int_equal(udp_sum(rte_pktmbuf_mtod_offset(m, uint8_t *, 14)), UINT16_MAX);
		rte_pktmbuf_free(m);
		ends_stop(&e);
	}
}

#define SEGMENT 1400  // octets of payload of each part
#define LARGE   20000 // octets of payload

// A TCP segment that is to be cut by the device, in several buffers.
static struct rte_mbuf *segment(void)
{
	struct rte_mbuf *m = datagram(), *last = m;
	struct rte_ipv4_hdr *ip =
		rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, sizeof(struct rte_ether_hdr));
	struct rte_tcp_hdr *tcp = (struct rte_tcp_hdr *)(ip + 1);

	m->l2_len = sizeof(struct rte_ether_hdr);
	m->l3_len = sizeof(*ip);
	m->l4_len = sizeof(*tcp);
	m->tso_segsz = SEGMENT;
	m->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_TCP_CKSUM;
	while (m->pkt_len < LARGE) {
		last->next = rte_pktmbuf_alloc(eal_pool);
		last = last->next;
		assert_non_null(last);
		memset(rte_pktmbuf_append(last, 2000), 1, 2000);
		m->pkt_len += 2000;
		m->nb_segs++;
	}
	ip->next_proto_id = IPPROTO_TCP;
	ip->total_length = rte_cpu_to_be_16((uint16_t)(m->pkt_len - sizeof(struct rte_ether_hdr)));
	*tcp = (struct rte_tcp_hdr){.data_off = sizeof(*tcp) / 4 << 4};
	return m;
}

// Of a port with tso, the driver marks the segment as segment.h wants it.
static void test_large_segment(void **state)
{
	(void)state;
	for (unsigned int port_is_vhost = 0; port_is_vhost < 2; port_is_vhost++) {
		struct rte_mbuf *m = segment();
		const uint32_t len = m->pkt_len;
		struct ends e;

		ends_start(&e, port_is_vhost,
			RTE_ETH_TX_OFFLOAD_TCP_TSO | RTE_ETH_TX_OFFLOAD_TCP_CKSUM, true);
		m = receive(&e, m);
		assert_int_equal(m->pkt_len, len);
		assert_int_equal(m->tso_segsz, SEGMENT);
		assert_int_not_equal(m->ol_flags & offloads.mbuf_flags & RTE_MBUF_F_RX_LRO, 0);
		rte_pktmbuf_free(m);
		ends_stop(&e);
	}
}

// Nothing that a guest names has to be true: the driver delivers the received octets, no more, and
// the size of parts as the guest has it, which segment.h checks. Without a size it is no segment.
static void test_segments_that_lie(void **state)
{
	static const struct {
		const char *what;
		uint64_t family;
		uint16_t l3_len : 9;
		uint8_t l4_len;
		uint16_t size;
	} lies[] = {
		{"no payload in a part", RTE_MBUF_F_TX_IPV4, 20, 20, 0},
		{"one octet", RTE_MBUF_F_TX_IPV4, 20, 20, 1},
		{"more than all", RTE_MBUF_F_TX_IPV4, 20, 20, UINT16_MAX},
		{"no TCP header", RTE_MBUF_F_TX_IPV4, 20, 0, SEGMENT},
		{"a longer TCP header", RTE_MBUF_F_TX_IPV4, 20, 255, SEGMENT},
		{"a longer IP header", RTE_MBUF_F_TX_IPV4, 511, 20, SEGMENT},
		{"the other family", RTE_MBUF_F_TX_IPV6, 40, 20, SEGMENT},
	};
	struct ends e;

	(void)state;
	ends_start(&e, true, RTE_ETH_TX_OFFLOAD_TCP_TSO | RTE_ETH_TX_OFFLOAD_TCP_CKSUM, true);
	for (unsigned int i = 0; i < COUNT_OF(lies); i++) {
		struct rte_mbuf *m = segment();
		const uint32_t len = m->pkt_len;

		print_message("%s\n", lies[i].what);
		m->ol_flags &= ~RTE_MBUF_F_TX_IPV4;
		m->ol_flags |= lies[i].family;
		m->l3_len = lies[i].l3_len;
		m->l4_len = lies[i].l4_len;
		m->tso_segsz = lies[i].size;
		m = receive(&e, m);
		assert_int_equal(m->pkt_len, len);
		assert_int_equal(m->tso_segsz, lies[i].size);
		assert_int_equal((m->ol_flags & offloads.mbuf_flags & RTE_MBUF_F_RX_LRO) != 0,
			lies[i].size != 0);
		rte_pktmbuf_free(m);
	}
	ends_stop(&e);
}

// Without, no other end may send any.
static void test_large_segments_not_offered(void **state)
{
	struct rte_eth_dev_info info;
	struct ends e;

	(void)state;
	ends_start(&e, true, RTE_ETH_TX_OFFLOAD_UDP_CKSUM, false);
	assert_int_equal(rte_eth_dev_info_get(e.virtio, &info), 0);
	assert_int_equal(info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_TCP_TSO, 0);
	assert_int_equal(offloads.mbuf_flags & RTE_MBUF_F_RX_LRO, 0);
	ends_stop(&e);
}

static int start(void **state)
{
	(void)state;
	eal_start();
	eal_pool = rte_pktmbuf_pool_create(
		"packets", 511, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	return eal_pool != NULL ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_offered),
		cmocka_unit_test(test_all_offered),
		cmocka_unit_test(test_rss),
		cmocka_unit_test(test_rss_key),
		cmocka_unit_test(test_partial_checksum),
		cmocka_unit_test(test_large_segment),
		cmocka_unit_test(test_segments_that_lie),
		cmocka_unit_test(test_large_segments_not_offered),
	};

	return cmocka_run_group_tests(tests, start, eal_pool_stop);
}
