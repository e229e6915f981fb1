// SPDX-License-Identifier: BSD-3-Clause
/*
 * How long packets take through a gateway. Usage, by app/measuring/latency.py on one thread:
 *
 *   latency EAL-ARGUMENTS -- SOURCE SEND RECEIVE BUFFERS PACKETS-PER-SECOND SECONDS
 *
 * Sends the packets of the port SOURCE, one at a time and evenly, out of SEND and receives them
 * from RECEIVE. Prints an object of JSON, in nanoseconds: {"packets": n, "lost": n, "min": ns,
 * "p50": ns, "p90": ns, "p99": ns, "max": ns}
 *
 * Encrypted packets cannot carry their time. The gateway keeps the order, so the packets of a batch
 * have the times of that batch, in order, if none is lost; a batch with loss is not counted.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

enum {
	BATCH = 256, // fewer than the descriptors of a ring
	BURST = 32,
	DESCRIPTORS = 1024,
	LINK_S = 10,
	RESULTS_MAX = 1 << 22,
	SILENCE_MS = 200, // after which a packet is lost. Where others use the CPUs, it may be late
			  // only.
};

struct path {
	uint16_t source, send, receive;
	uint64_t interval; // cycles between packets
};

struct results {
	uint64_t *cycles; // of each packet
	size_t packets, lost;
};

static void die(const char *reason, const char *name)
{
	fprintf(stderr, "latency: %s %s\n", reason, name);
	exit(1);
}

static uint16_t port_start(const char *name, struct rte_mempool *pool)
{
	const struct rte_eth_conf conf = {0};
	uint16_t port;

	if (rte_eth_dev_get_port_by_name(name, &port) != 0)
		die("no port", name);
	if (rte_eth_dev_configure(port, 1, 1, &conf) != 0 ||
		rte_eth_rx_queue_setup(port, 0, DESCRIPTORS, SOCKET_ID_ANY, NULL, pool) != 0 ||
		rte_eth_tx_queue_setup(port, 0, DESCRIPTORS, SOCKET_ID_ANY, NULL) != 0 ||
		rte_eth_dev_start(port) != 0)
		die("cannot start port", name);
	return port;
}

static void wait_for_link(uint16_t port, const char *name)
{
	struct rte_eth_link link = {0};

	for (int i = 0; i < LINK_S * 100; i++) {
		if (rte_eth_link_get_nowait(port, &link) == 0 &&
			link.link_status == RTE_ETH_LINK_UP)
			return;
		rte_delay_ms(10);
	}
	die("no link of port", name);
}

// False: the source or the gateway's ring had no room for the packet.
static bool send_one(const struct path *path)
{
	struct rte_mbuf *m;

	if (rte_eth_rx_burst(path->source, 0, &m, 1) == 0)
		return false;
	if (rte_eth_tx_burst(path->send, 0, &m, 1) == 1)
		return true;
	rte_pktmbuf_free(m);
	return false;
}

// Returns the number of IPv4 packets. Others, such as ARP, are the gateway's own.
static unsigned receive(uint16_t port)
{
	struct rte_mbuf *burst[BURST];
	uint16_t n = rte_eth_rx_burst(port, 0, burst, BURST);
	unsigned packets = 0;

	for (uint16_t i = 0; i < n; i++)
		packets += rte_pktmbuf_mtod(burst[i], struct rte_ether_hdr *)->ether_type ==
			   rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
	rte_pktmbuf_free_bulk(burst, n);
	return packets;
}

// Sends a batch and receives it. Adds its times to the results, or its losses.
static void batch(const struct path *path, struct results *results)
{
	uint64_t sent_at[BATCH], took[BATCH], now = rte_rdtsc(), next = now, last = now;
	uint64_t silence = rte_get_tsc_hz() / 1000 * SILENCE_MS + path->interval;
	unsigned sent = 0, received = 0;

	// After the last one it is silent for a moment, or a late packet would be in the next
	// batch.
	while (received < BATCH && now - last < silence) {
		now = rte_rdtsc();
		if (sent < BATCH && now >= next) {
			sent_at[sent] = now;
			if (send_one(path)) {
				sent++;
				last = now;
			}
			next += path->interval;
		}
		unsigned n = receive(path->receive);
		now = rte_rdtsc();
		for (; n > 0 && received < sent; n--, received++)
			took[received] = now - sent_at[received];
		receive(path->send);
	}
	if (received == BATCH) {
		memcpy(results->cycles + results->packets, took, sizeof(took));
		results->packets += BATCH;
	} else
		results->lost += sent - received;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t nanoseconds(const struct results *results, double share)
{
	uint64_t cycles = results->cycles[(size_t)(share * (double)(results->packets - 1))];

	return cycles * 1000 / (rte_get_tsc_hz() / 1000000);
}

static void print(const struct results *r)
{
	printf("{\"packets\": %zu, \"lost\": %zu", r->packets, r->lost);
	if (r->packets > 0)
		printf(", \"min\": %" PRIu64 ", \"p50\": %" PRIu64 ", \"p90\": %" PRIu64
		       ", \"p99\": %" PRIu64 ", \"max\": %" PRIu64,
			nanoseconds(r, 0), nanoseconds(r, 0.5), nanoseconds(r, 0.9),
			nanoseconds(r, 0.99), nanoseconds(r, 1));
	printf("}\n");
}

int main(int argc, char **argv)
{
	int used = rte_eal_init(argc, argv);

	if (used < 0 || argc - used != 7)
		die("usage: see", "app/measuring/latency.c");
	char **names = argv + used + 1;
	struct rte_mempool *pool = rte_pktmbuf_pool_create("packets", (unsigned)atoi(names[3]), 0,
		0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (pool == NULL)
		die("no memory", "");
	struct path path = {port_start(names[0], pool), port_start(names[1], pool),
		port_start(names[2], pool), (uint64_t)((double)rte_get_tsc_hz() / atof(names[4]))};
	wait_for_link(path.send, names[1]);
	wait_for_link(path.receive, names[2]);
	struct results results = {malloc(RESULTS_MAX * sizeof(uint64_t)), 0, 0}, warm_up = results;
	if (results.cycles == NULL)
		die("no memory", "");
	batch(&path, &warm_up);
	uint64_t end = rte_rdtsc() + (uint64_t)(atof(names[5]) * (double)rte_get_tsc_hz());
	while (rte_rdtsc() < end && results.packets + BATCH <= RESULTS_MAX)
		batch(&path, &results);
	qsort(results.cycles, results.packets, sizeof(*results.cycles), compare);
	print(&results);
	free(results.cycles);
	for (unsigned i = 0; i < 3; i++)
		rte_eth_dev_stop((uint16_t[]){path.source, path.send, path.receive}[i]);
	rte_eal_cleanup();
	return 0;
}
