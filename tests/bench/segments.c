// SPDX-License-Identifier: BSD-3-Clause
// TCP of a virtual machine through vhost: the cycles that a worker spends on its octets in segments
// of 64 kB, which the gateway cuts (tso), beside those in frames of 1500 octets:
//
//   bench_segments [--rounds N] [--json]
//
// A virtio_user device in this process is the virtual machine, and leaves checksums to the gateway.
// The clock runs while the worker receives by vhost and passes its packets, from the driver's
// functions on; not while the virtual machine sends. The ports that it sends by are replaced.
#include <getopt.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include <rte_bus_vdev.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_tcp.h>

#include "conf_text.h"
#include "median.h"
#include "nic.h"
#include "option_number.h"
#include "packet.h"
#include "port_offload.h"
#include "rx_checksum.h"
#include "single_gateway.h"

#define ROUNDS     301
#define ROUNDS_MAX 9999
#define RING       1024
#define BURST      64
#define MSS        1400   // octets, for which the tunnel has room
#define ROUND      128000 // octets of payload of a round
#define HEADERS    (ETH_LEN + IP_LEN + sizeof(struct rte_tcp_hdr))
#define CHUNK      4096 // octets of a buffer of the virtual machine

enum { FRAMES, TSO_FRAMES, SEGMENTS, KINDS };

// How the virtual machine sends.
static const struct kind {
	const char *name, *text;
	uint32_t payload; // of a frame
	bool tso;         // of the port
} kinds[KINDS] = {
	{"frames", "frames of 1440 octets", MSS, false},
	{"tso_frames", "the same, at a port with tso", MSS, true},
	{"segments", "segments of 64 kB, cut", 64000, true},
};

static const struct target {
	const char *name, *text, *addr;
} targets[] = {
	{"esp", "encapsulated (AES-128-GCM)", "10.2.0.5"}, {"clear", "in clear", "192.0.2.9"}};

struct guest {
	struct rte_mempool *pool;
	uint16_t virtio, vhost; // ethdev's numbers
	struct port_offloads offloads;
	char folder[32], path[64];
};

static void conf_write(FILE *f, const void *arg)
{
	(void)arg;
	fputs("ports = (\n"
	      "  { name = \"lan\"; device = \"net_null0\"; addresses = [ \"10.1.0.1/24\" ]; },\n"
	      "  { name = \"wan\"; device = \"net_null1\"; addresses = [ \"192.0.2.1/24\" ]; } );\n"
	      "neighbours = ( { address = \"192.0.2.2\"; mac = \"02:00:00:00:02:01\"; },\n"
	      "  { address = \"192.0.2.9\"; mac = \"02:00:00:00:02:02\"; } );\n"
	      "sas = ( { name = \"out\"; direction = \"out\"; spi = \"0x1000\";\n"
	      "    local = \"192.0.2.1\"; remote = \"192.0.2.2\"; cipher = \"aes-128-gcm\";\n"
	      "    cipher_key = \"000102030405060708090a0b0c0d0e0f10111213\"; },\n"
	      "  { name = \"in\"; direction = \"in\"; spi = \"0x1001\";\n"
	      "    local = \"192.0.2.1\"; remote = \"192.0.2.2\"; cipher = \"aes-128-gcm\";\n"
	      "    cipher_key = \"100102030405060708090a0b0c0d0e0f10111213\"; } );\n"
	      "routes = ( { to = \"10.2.0.0/24\"; via = \"192.0.2.2\"; } );\n"
	      "policies = ( { name = \"b\"; remote = \"10.2.0.0/24\"; action = \"protect\";\n"
	      "    out = \"out\"; in = \"in\"; }, { name = \"all\"; action = \"bypass\"; } );\n",
		f);
}

static uint16_t device_start(const char *name, const char *args, struct rte_eth_conf *conf,
	const struct port_use *use, struct port_offloads *o, struct rte_mempool *pool)
{
	struct rte_eth_dev_info info;
	uint16_t id;

	if (rte_vdev_init(name, args) < 0 || rte_eth_dev_get_port_by_name(name, &id) < 0 ||
		rte_eth_dev_info_get(id, &info) < 0)
		die("no device %s", name);
	if (o != NULL) {
		*o = port_offloads_choose(&info, use);
		conf->rxmode.offloads = o->rx;
	}
	conf->txmode.offloads &= info.tx_offload_capa;
	if (rte_eth_dev_configure(id, 1, 1, conf) < 0 ||
		rte_eth_rx_queue_setup(id, 0, RING, SOCKET_ID_ANY, NULL, pool) < 0 ||
		rte_eth_tx_queue_setup(id, 0, RING, SOCKET_ID_ANY, NULL) < 0 ||
		rte_eth_dev_start(id) < 0)
		die("device %s does not start", name);
	return id;
}

static void guest_start(struct guest *g, unsigned int id, struct rte_mempool *pool, bool tso)
{
	struct rte_eth_conf port = {0}, sender = {.txmode.offloads = RTE_ETH_TX_OFFLOAD_TCP_TSO |
								     RTE_ETH_TX_OFFLOAD_TCP_CKSUM |
								     RTE_ETH_TX_OFFLOAD_MULTI_SEGS};
	struct rte_eth_link link = {0};
	char name[32];

	*g = (struct guest){.folder = "/tmp/culvert-bench-XXXXXX"};
	if (mkdtemp(g->folder) == NULL)
		die("no folder");
	snprintf(name, sizeof(name), "guest-%u", id);
	g->pool = rte_pktmbuf_pool_create(
		name, 2047, 0, 0, RTE_PKTMBUF_HEADROOM + CHUNK, SOCKET_ID_ANY);
	if (g->pool == NULL)
		die("no memory");
	snprintf(g->path, sizeof(g->path), "iface=%s/s,tso=%d", g->folder, tso);
	snprintf(name, sizeof(name), "net_vhost%u", id);
	g->vhost = device_start(name, g->path, &port,
		&(struct port_use){.tso = tso, .n_rx = 1, .n_workers = 1}, &g->offloads, pool);
	snprintf(g->path, sizeof(g->path), "path=%s/s,queue_size=%u", g->folder, RING);
	snprintf(name, sizeof(name), "net_virtio_user%u", id);
	g->virtio = device_start(name, g->path, &sender, NULL, NULL, g->pool);
	for (unsigned int i = 0; i < 5000 && !link.link_status; i++) {
		usleep(1000);
		if (rte_eth_link_get_nowait(g->vhost, &link) < 0)
			die("no link of vhost");
	}
	usleep(100000); // its queues are on
}

static void guest_stop(struct guest *g, unsigned int id)
{
	char name[32];

	rte_eth_dev_stop(g->virtio);
	rte_eth_dev_stop(g->vhost);
	snprintf(name, sizeof(name), "net_virtio_user%u", id);
	rte_vdev_uninit(name);
	snprintf(name, sizeof(name), "net_vhost%u", id);
	rte_vdev_uninit(name);
	rte_mempool_free(g->pool);
	snprintf(g->path, sizeof(g->path), "%s/s", g->folder);
	unlink(g->path);
	rmdir(g->folder);
}

// A frame of the virtual machine's kernel: headers, and pages with the payload.
static struct rte_mbuf *frame_make(
	const struct guest *g, const struct kind *kind, const char *to, uint32_t *seq)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(g->pool), *last = m;
	struct rte_tcp_hdr *tcp;
	uint8_t *at;

	if (m == NULL)
		die("no packet buffers of the virtual machine");
	at = (uint8_t *)rte_pktmbuf_append(m, HEADERS);
	if (at == NULL)
		die("no room");
	memcpy(at, mac_of_port(LAN), 6);
	memcpy(at + 6, mac_of_neighbour(LAN), 6);
	put16(at + 12, RTE_ETHER_TYPE_IPV4);
	ip_write(at + ETH_LEN, (struct ipv4)FROM_TO("10.1.0.5", to, .proto = IPPROTO_TCP,
				       .len = HEADERS - ETH_LEN, .frag = DF));
	put16(at + ETH_LEN + 2, kind->payload + HEADERS - ETH_LEN);
	ip_checksum_update(at + ETH_LEN);
	tcp = (struct rte_tcp_hdr *)(at + ETH_LEN + IP_LEN);
	*tcp = (struct rte_tcp_hdr){.src_port = RTE_BE16(40000),
		.dst_port = RTE_BE16(5001),
		.sent_seq = rte_cpu_to_be_32(*seq),
		.recv_ack = RTE_BE32(1),
		.data_off = sizeof(*tcp) / 4 << 4,
		.tcp_flags = RTE_TCP_ACK_FLAG,
		.rx_win = RTE_BE16(60000)};
	*seq += kind->payload;
	m->l2_len = ETH_LEN;
	m->l3_len = IP_LEN;
	m->l4_len = sizeof(*tcp);
	m->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_CKSUM;
	if (kind->payload > MSS) {
		m->ol_flags |= RTE_MBUF_F_TX_TCP_SEG;
		m->tso_segsz = MSS;
	} else {
		tcp->cksum =
			rte_ipv4_phdr_cksum((struct rte_ipv4_hdr *)(at + ETH_LEN), m->ol_flags);
	}
	for (uint32_t done = 0, len; done < kind->payload; done += len) {
		len = RTE_MIN(kind->payload - done, (uint32_t)CHUNK);
		last->next = rte_pktmbuf_alloc(g->pool);
		last = last->next;
		if (last == NULL || rte_pktmbuf_append(last, (uint16_t)len) == NULL)
			die("no packet buffers of the virtual machine");
		m->pkt_len += len;
		m->nb_segs++;
	}
	return m;
}

// The buffer of a port is full, or a pass has ended.
static void transmit(void *gateway, uint16_t port)
{
	struct tx_buffer *tx = &((struct single_gateway *)gateway)->worker->tx[port];

	nic_send(tx->m, tx->n);
	tx->n = 0;
}

// Receives a burst and passes it, as the daemon's loop does. Returns the frames received.
static uint16_t receive(const struct guest *g, struct single_gateway *gw)
{
	struct rte_mbuf *m[BURST];
	uint16_t n = rte_eth_rx_burst(g->vhost, 0, m, BURST);

	if (n == 0)
		return 0;
	for (uint16_t i = 0; i < n; i++) {
		m[i]->port = LAN;
		m[i]->ol_flags &= g->offloads.mbuf_flags;
	}
	if ((g->offloads.mbuf_flags & RTE_MBUF_F_RX_LRO) != 0)
		rx_checksum_complete(gw->worker, m, n);
	single_gateway_pass(gw, m, n, rte_rdtsc());
	transmit(gw, WAN);
	return n;
}

// A port and the gateway that has it.
struct side {
	struct guest guest;
	struct single_gateway *gateway;
	uint32_t seq;
};

static void side_start(struct side *s, unsigned int id, bool tso)
{
	s->gateway = single_gateway_new(id, conf_written(conf_write, NULL));
	worker_sender_set(s->gateway->worker, transmit, s->gateway);
	guest_start(&s->guest, id, s->gateway->pool, tso);
	s->seq = 1;
}

static void side_stop(struct side *s, unsigned int id)
{
	guest_stop(&s->guest, id);
	single_gateway_free(s->gateway);
}

// Cycles of the worker for a packet that it sends.
static double round_run(struct side *s, const struct kind *kind, const char *to)
{
	const unsigned int n = ROUND / kind->payload;
	unsigned int sent = 0, received = 0, drops = 0;
	uint64_t cycles = 0;

	while (received < n) {
		uint64_t from;
		uint16_t got;

		while (sent < n && sent - received < BURST) {
			struct rte_mbuf *m = frame_make(&s->guest, kind, to, &s->seq);

			if (rte_eth_tx_burst(s->guest.virtio, 0, &m, 1) == 0)
				die("the virtual machine cannot send");
			sent++;
		}
		from = rte_rdtsc_precise();
		got = receive(&s->guest, s->gateway);
		if (got > 0)
			cycles += rte_rdtsc_precise() - from;
		received += got;
	}
	for (unsigned int d = DROP_NONE + 1; d < DROP_COUNT; d++)
		drops += (unsigned int)s->gateway->worker->counters.drops[d];
	if (drops > 0)
		die("%u packets were dropped", drops);
	return (double)cycles / ((double)n * kind->payload / MSS);
}

// Rounds of each kind in turn, so that other work of the machine affects all.
static void measure(struct side sides[2], const struct target *t, unsigned int rounds, bool json)
{
	static double cycles[KINDS][ROUNDS_MAX], ratio[KINDS][ROUNDS_MAX];

	for (unsigned int i = 0; i < rounds; i++)
		for (unsigned int w = 0; w < KINDS; w++) {
			cycles[w][i] = round_run(&sides[kinds[w].tso], &kinds[w], t->addr);
			ratio[w][i] = cycles[FRAMES][i] / cycles[w][i];
		}
	for (unsigned int w = 0; w < KINDS; w++) {
		const double c = median(cycles[w], rounds), r = median(ratio[w], rounds);

		if (json)
			printf("{\"target\": \"%s\", \"name\": \"%s\", \"cycles\": %.1f, "
			       "\"throughput\": %.2f}\n",
				t->name, kinds[w].name, c, r);
		else
			printf("%-28s %-32s %8.1f %8.2f\n", t->text, kinds[w].text, c, r);
	}
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{"rounds", required_argument, NULL, 'r'}, {"json", no_argument, NULL, 'j'}, {0}};
	unsigned int rounds = ROUNDS;
	struct side sides[2];
	bool json = false;
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'r')
			rounds = option_number("rounds", optarg, ROUNDS_MAX);
		else if (c == 'j')
			json = true;
		else
			exit(2);
	}
	nic_start(1);
	for (unsigned int i = 0; i < RTE_DIM(sides); i++)
		side_start(&sides[i], i, i == 1);
	if (!json)
		printf("%-61s %8s %8s\n", "TSC cycles for 1400 octets of TCP", "cycles", "speed");
	for (unsigned int i = 0; i < RTE_DIM(targets); i++)
		measure(sides, &targets[i], rounds, json);
	for (unsigned int i = 0; i < RTE_DIM(sides); i++)
		side_stop(&sides[i], i);
	nic_stop();
	return EXIT_SUCCESS;
}
