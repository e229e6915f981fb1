// SPDX-License-Identifier: BSD-3-Clause
// An ethdev driver for ipsec-secgw, linked in: a network card in memory whose cost is low and
// known. It receives the frames of a capture, copied into new mbufs: first each once, then batches
// of random ones, like those of bench_pass (batch.h). It counts and frees all frames sent to it. It
// claims the checksum offloads without which ipsec-secgw does not start. Device net_framesN,
// arguments
//
//   file=FILE     frames to receive; a port without a file receives nothing
//   record=FILE   a capture of the frames sent while each was received once
//
// The receiving port ends the process after ROUNDS rounds, with a line of JSON: TSC cycles for each
// packet, quartiles of the rounds, those of its own functions called back to back, and the share of
// the core (core.h). The clock is stopped while a batch is made, and in the first quarter of it.
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bus_vdev_driver.h>
#include <ethdev_driver.h>
#include <ethdev_vdev.h>
#include <rte_cycles.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_kvargs.h>
#include <rte_version.h>

#include "rounds.h"

#define ROUNDS 301 // of one batch each
#define BURST  32
// As in batch.h: a batch is small enough for the second level cache.
#define BATCH_MAX    1024
#define BATCH_OCTETS (RTE_CACHE_LINE_SIZE * 4096)

struct capture_header {
	uint32_t seconds, microseconds, len, wire_len;
};

struct frame {
	uint16_t len;
	uint32_t ptype;
	uint8_t *octets;
};

struct queue {
	struct port *port;
	struct rte_mempool *pool;
};

struct port {
	struct rte_ether_addr mac;
	struct queue rx, tx;
	struct frame *frames;
	unsigned int n_frames;
	unsigned int once; // frames received while each is received once
	struct frame batch[BATCH_MAX];
	unsigned int n, warm, next; // frames of the batch; not counted; the next one
	uint64_t random;
	FILE *record;
};

// Shared by all ports: one lcore polls them.
static uint64_t received, sent;
static unsigned int to_record; // frames of the capture to receive
static double round_cycles[ROUNDS];
static struct rounds rounds;
static uint64_t clock_tsc;

static uint32_t random_below(struct port *p, uint32_t n)
{
	p->random ^= p->random << 13;
	p->random ^= p->random >> 7;
	p->random ^= p->random << 17;
	return (uint32_t)((p->random >> 32) * n >> 32);
}

static void batch_fill(struct port *p)
{
	for (unsigned int i = 0; i < p->n; i++) {
		const struct frame *f = &p->frames[random_below(p, p->n_frames)];

		p->batch[i].len = f->len;
		p->batch[i].ptype = f->ptype;
		memcpy(p->batch[i].octets, f->octets, f->len);
	}
	p->next = 0;
}

static uint16_t frames_rx(
	const struct frame *f, struct rte_mempool *pool, struct rte_mbuf **m, uint16_t n)
{
	if (rte_pktmbuf_alloc_bulk(pool, m, n) != 0)
		return 0;
	for (uint16_t i = 0; i < n; i++, f++) {
		rte_memcpy(rte_pktmbuf_mtod(m[i], void *), f->octets, f->len);
		m[i]->data_len = f->len;
		m[i]->pkt_len = f->len;
		m[i]->packet_type = f->ptype;
		m[i]->ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD;
	}
	return n;
}

// As with RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE: one pool, one segment, one reference.
static void frames_tx(struct rte_mbuf **m, uint16_t n)
{
	if (n > 0)
		rte_mempool_put_bulk(m[0]->pool, (void **)m, n);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, unsigned int n)
{
	qsort(v, n, sizeof(v[0]), compare);
	return v[n / 2];
}

static double own_cycles(struct queue *q)
{
	struct port *p = q->port;
	static struct rounds r;
	struct rte_mbuf *m[BURST];
	double v[ROUNDS];

	rounds_begin(&r, ROUNDS);
	do {
		uint64_t start = 0;

		batch_fill(p);
		rounds_start(&r);
		for (unsigned int i = 0; i < p->n; i += BURST) {
			if (i == p->warm)
				start = rte_rdtsc_precise();
			frames_tx(m, frames_rx(&p->batch[i], q->pool, m, BURST));
		}
		v[r.n] = (double)(rte_rdtsc_precise() - start) / (p->n - p->warm);
	} while (rounds_end(&r));
	return median(v, ROUNDS);
}

static void finish(struct queue *q)
{
	double cycles = median(round_cycles, ROUNDS);

	printf("{\"cycles\":%.1f,\"cycles_q1\":%.1f,\"cycles_q3\":%.1f,\"ports\":%.1f,"
	       "\"core_shared\":%s,\"received\":%" PRIu64 ",\"sent\":%" PRIu64 "}\n",
		cycles, round_cycles[ROUNDS / 4], round_cycles[3 * ROUNDS / 4], own_cycles(q),
		core_is_shared(rounds_core(&rounds).share) ? "true" : "false", received, sent);
	fflush(stdout);
	_exit(0);
}

// The frames of the batch have all been received, and those before the last burst sent.
static void batch_end(struct queue *q)
{
	struct port *p = q->port;

	if (clock_tsc != 0) {
		uint64_t cycles = rte_rdtsc_precise() - clock_tsc;

		round_cycles[rounds.n] = (double)cycles / (p->n - p->warm);
		if (!rounds_end(&rounds))
			finish(q);
	} else {
		rounds_begin(&rounds, ROUNDS);
	}
	batch_fill(p);
	rounds_start(&rounds);
}

static uint16_t rx_once(struct queue *q, struct rte_mbuf **m, uint16_t n)
{
	struct port *p = q->port;
	uint16_t got = frames_rx(&p->frames[p->once], q->pool, m,
		(uint16_t)RTE_MIN(RTE_MIN(n, BURST), p->n_frames - p->once));

	p->once += got;
	received += got;
	return got;
}

static uint16_t rx_burst(void *queue, struct rte_mbuf **m, uint16_t n)
{
	struct queue *q = queue;
	struct port *p = q->port;
	uint16_t got;

	if (unlikely(p->once < p->n_frames))
		return rx_once(q, m, n);
	if (p->next == p->n)
		batch_end(q);
	if (p->next == p->warm)
		clock_tsc = rte_rdtsc_precise();
	got = frames_rx(&p->batch[p->next], q->pool, m, (uint16_t)RTE_MIN(n, BURST));
	p->next += got;
	received += got;
	return got;
}

static uint16_t rx_nothing(void *queue, struct rte_mbuf **m, uint16_t n)
{
	RTE_SET_USED(queue);
	RTE_SET_USED(m);
	RTE_SET_USED(n);
	return 0;
}

static void record(FILE *file, const struct rte_mbuf *m)
{
	struct capture_header h = {.len = m->pkt_len, .wire_len = m->pkt_len};

	fwrite(&h, sizeof(h), 1, file);
	fwrite(rte_pktmbuf_mtod(m, const void *), m->pkt_len, 1, file);
}

static uint16_t tx_burst(void *queue, struct rte_mbuf **m, uint16_t n)
{
	struct port *p = ((struct queue *)queue)->port;

	for (uint16_t i = 0; p->record != NULL && i < n; i++) {
		record(p->record, m[i]);
		if (sent + i + 1 == to_record) {
			fclose(p->record);
			p->record = NULL;
		}
	}
	frames_tx(m, n);
	sent += n;
	return n;
}

static int dev_nothing(struct rte_eth_dev *dev)
{
	RTE_SET_USED(dev);
	return 0;
}

static int dev_info(struct rte_eth_dev *dev, struct rte_eth_dev_info *info)
{
	RTE_SET_USED(dev);
	info->max_rx_queues = 16;
	info->max_tx_queues = 16; // ipsec-secgw requires one for each CPU
	info->max_mac_addrs = 1;
	info->max_rx_pktlen = 9728;
	info->rx_offload_capa = RTE_ETH_RX_OFFLOAD_CHECKSUM | RTE_ETH_RX_OFFLOAD_SCATTER;
	info->tx_offload_capa = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_MULTI_SEGS |
				RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
	info->flow_type_rss_offloads = RTE_ETH_RSS_IP;
	return 0;
}

#if RTE_VERSION >= RTE_VERSION_NUM(24, 0, 0, 0)
static const uint32_t *dev_ptypes(struct rte_eth_dev *dev, size_t *n)
#else
static const uint32_t *dev_ptypes(struct rte_eth_dev *dev)
#endif
{
	static const uint32_t types[] = {RTE_PTYPE_L2_ETHER, RTE_PTYPE_L3_IPV4, RTE_PTYPE_L3_IPV6,
		RTE_PTYPE_L4_UDP, RTE_PTYPE_TUNNEL_ESP, RTE_PTYPE_UNKNOWN};

	RTE_SET_USED(dev);
#if RTE_VERSION >= RTE_VERSION_NUM(24, 0, 0, 0)
	*n = RTE_DIM(types) - 1;
#endif
	return types;
}

static int rx_setup(struct rte_eth_dev *dev, uint16_t id, uint16_t n, unsigned int socket,
	const struct rte_eth_rxconf *conf, struct rte_mempool *pool)
{
	struct port *p = dev->data->dev_private;

	RTE_SET_USED(n);
	RTE_SET_USED(socket);
	RTE_SET_USED(conf);
	p->rx = (struct queue){.port = p, .pool = pool};
	dev->data->rx_queues[id] = &p->rx;
	return 0;
}

static int tx_setup(struct rte_eth_dev *dev, uint16_t id, uint16_t n, unsigned int socket,
	const struct rte_eth_txconf *conf)
{
	struct port *p = dev->data->dev_private;

	RTE_SET_USED(n);
	RTE_SET_USED(socket);
	RTE_SET_USED(conf);
	p->tx = (struct queue){.port = p};
	dev->data->tx_queues[id] = &p->tx;
	return 0;
}

static int link_update(struct rte_eth_dev *dev, int wait)
{
	RTE_SET_USED(dev);
	RTE_SET_USED(wait);
	return 0;
}

static int stats_get(struct rte_eth_dev *dev, struct rte_eth_stats *stats)
{
	RTE_SET_USED(dev);
	stats->ipackets = received;
	stats->opackets = sent;
	return 0;
}

static const struct eth_dev_ops ops = {
	.dev_configure = dev_nothing,
	.dev_start = dev_nothing,
	.dev_stop = dev_nothing,
	.dev_close = dev_nothing,
	.dev_infos_get = dev_info,
	.dev_supported_ptypes_get = dev_ptypes,
	.promiscuous_enable = dev_nothing,
	.rx_queue_setup = rx_setup,
	.tx_queue_setup = tx_setup,
	.link_update = link_update,
	.stats_get = stats_get,
};

static uint32_t ptype_of(const uint8_t *octets)
{
	const struct rte_ipv4_hdr *ip = (const void *)(octets + RTE_ETHER_HDR_LEN);

	return RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 |
	       (ip->next_proto_id == IPPROTO_ESP ? RTE_PTYPE_TUNNEL_ESP : RTE_PTYPE_L4_UDP);
}

static uint8_t *memory(size_t octets)
{
	uint8_t *p =
		aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_ALIGN_CEIL(octets, RTE_CACHE_LINE_SIZE));

	if (p == NULL)
		rte_exit(EXIT_FAILURE, "no memory for frames\n");
	return p;
}

static void batch_init(struct port *p)
{
	unsigned int len_max = 0, stride;
	uint8_t *octets;

	for (unsigned int i = 0; i < p->n_frames; i++)
		len_max = RTE_MAX(len_max, p->frames[i].len);
	stride = RTE_ALIGN_CEIL(len_max, RTE_CACHE_LINE_SIZE);
	p->n = RTE_MIN(BATCH_OCTETS / stride, (unsigned int)BATCH_MAX) / BURST * BURST;
	p->warm = p->n / 4 / BURST * BURST;
	p->next = p->n;
	p->random = 88172645463325252u;
	octets = memory((size_t)p->n * stride);
	for (unsigned int i = 0; i < p->n; i++)
		p->batch[i].octets = octets + (size_t)i * stride;
}

// A key of the arguments: frames to receive.
static int file_read(const char *key, const char *path, void *arg)
{
	FILE *file = fopen(path, "rb");
	struct capture_header h;
	struct port *p = arg;

	RTE_SET_USED(key);
	if (file == NULL || fseek(file, 24, SEEK_SET) != 0)
		return -1;
	while (fread(&h, sizeof(h), 1, file) == 1) {
		uint8_t *octets = memory(h.len);

		if (fread(octets, h.len, 1, file) != 1)
			return -1;
		p->frames = realloc(p->frames, (p->n_frames + 1) * sizeof(*p->frames));
		if (p->frames == NULL)
			return -1;
		p->frames[p->n_frames++] = (struct frame){
			.len = (uint16_t)h.len, .ptype = ptype_of(octets), .octets = octets};
	}
	fclose(file);
	if (p->n_frames == 0)
		return -1;
	to_record = p->n_frames;
	batch_init(p);
	return 0;
}

static int record_open(const char *key, const char *path, void *arg)
{
	static const uint32_t header[6] = {0xa1b2c3d4, 4 << 16 | 2, 0, 0, 65535, 1};
	struct port *p = arg;

	RTE_SET_USED(key);
	p->record = fopen(path, "wb");
	return p->record != NULL && fwrite(header, sizeof(header), 1, p->record) == 1 ? 0 : -1;
}

static int arguments(struct port *p, const char *text)
{
	struct rte_kvargs *args;
	int rc;

	if (text == NULL || *text == 0)
		return 0;
	args = rte_kvargs_parse(text, NULL);
	if (args == NULL)
		return -1;
	rc = rte_kvargs_process(args, "file", file_read, p);
	if (rc == 0)
		rc = rte_kvargs_process(args, "record", record_open, p);
	rte_kvargs_free(args);
	return rc;
}

static int probe(struct rte_vdev_device *vdev)
{
	struct rte_eth_dev *dev = rte_eth_vdev_allocate(vdev, sizeof(struct port));
	struct port *p;

	if (dev == NULL)
		return -1;
	p = dev->data->dev_private;
	if (arguments(p, rte_vdev_device_args(vdev)) != 0)
		return -1;
	p->mac = (struct rte_ether_addr){{0x02, 0, 0, 0, 0, (uint8_t)(dev->data->port_id + 1)}};
	dev->data->mac_addrs = &p->mac;
	dev->data->promiscuous = 1;
	dev->data->dev_link = (struct rte_eth_link){.link_speed = RTE_ETH_SPEED_NUM_100G,
		.link_duplex = RTE_ETH_LINK_FULL_DUPLEX,
		.link_status = RTE_ETH_LINK_UP};
	dev->dev_ops = &ops;
	dev->rx_pkt_burst = p->n_frames > 0 ? rx_burst : rx_nothing;
	dev->tx_pkt_burst = tx_burst;
	rte_eth_dev_probing_finish(dev);
	return 0;
}

static int remove_device(struct rte_vdev_device *vdev)
{
	RTE_SET_USED(vdev);
	return 0;
}

static struct rte_vdev_driver driver = {.probe = probe, .remove = remove_device};

RTE_PMD_REGISTER_VDEV(net_frames, driver);
