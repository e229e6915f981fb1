// SPDX-License-Identifier: BSD-3-Clause
// The cost of a port for the gateway, beside that of the same port under a program that passes
// frames on as they are:
//
//   bench_ports [--port NAME] [--args ARGUMENTS] [--peer ARGUMENTS] [--dir out,in]
//               [--size OCTETS,...] [--burst N,...] [--rounds N] [--json]
//
// Without --port, all ports that need no interface of the kernel. ARGUMENTS begin with a comma: of
// the port's device, and of its peer.
//
// Both ends of two wires are in this process, on one thread: a burst is put into one end while the
// clock is stopped, and the gateway's end is served while it runs. So there is no other CPU, and no
// generator is measured. In each round batches of the same packets are, in turn,
//
//   received and sent, as testpmd does in its mode io         io
//   received, passed and sent by loop_run() of culvertd       daemon
//   received and sent by the replacement of ports (nic.h)     )
//   the same with the pass between                            ) pass
//
// and more = daemon - io - pass: the cost of the port for the gateway beyond that for others.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

#include "lists.h"
#include "loop.h"
#include "median.h"
#include "options.h"
#include "packet_pool.h"
#include "traffic.h"
#include "wire.h"

#define ROUNDS     301
#define ROUNDS_MAX 9999
#define IO_BURST   32 // of testpmd
#define BUFFERS    8192
#define CACHED     256
#define POLLS_MAX  1000000 // without a packet, until one counts as lost

enum { IO, DAEMON, NIC, ALL, WAYS };

struct bench {
	struct traffic traffic;
	struct gateway *gateway;
	struct wires wires;
	struct rte_mempool *peer_pool;
	struct loop *loop;
	unsigned int in, out;   // numbers of the wires
	eth_rx_burst_t receive; // of the port's driver
	// Of the batch, packets: put into the first wire, received from it by the port, taken out
	// of the other wire, and those right of these.
	unsigned int put, received, taken, right;
	bool checked;           // those taken out are clear packets of the batch
	unsigned int polls;     // without a packet
	uint64_t since, cycles; // TSC when the clock was started, 0: it was not; and all it ran
	unsigned int uncounted; // packets received before it ran
};

struct options {
	const char *port, *args, *peer_args;
	unsigned int rounds;
	bool json;
	struct points points;
};

static struct bench *bench; // which receive() is for

static void batch_begin(struct bench *b, bool checked)
{
	traffic_fill(&b->traffic);
	b->put = b->received = b->taken = b->right = b->polls = 0;
	b->since = b->cycles = 0;
	b->uncounted = 0;
	b->checked = checked;
}

// Empties the wire that the gateway sends by.
static void take(struct bench *b)
{
	struct rte_mbuf *m[POINT_BURST_MAX];
	uint16_t n;

	while ((n = rte_eth_rx_burst(b->wires.peer[b->out], 0, m, RTE_DIM(m))) > 0) {
		if (b->checked)
			b->right += nic_send_checked(m, n, b->traffic.batch, b->taken);
		else
			b->right += nic_send(m, n);
		b->taken += n;
	}
}

// Puts the next burst into the other one when the port has received the last.
static void put(struct bench *b)
{
	const struct batch *batch = b->traffic.batch;
	uint16_t n = (uint16_t)RTE_MIN(b->traffic.point->burst, batch->n - b->put), sent;
	struct rte_mbuf *m[POINT_BURST_MAX];

	if (b->received < b->put || n == 0)
		return;
	nic_receive(b->peer_pool, m, batch, b->put, n, 0);
	for (uint16_t i = 0; i < n; i++)
		m[i]->ol_flags = 0;
	// A wire may have no room before the port has been served once.
	sent = rte_eth_tx_burst(b->wires.peer[b->in], 0, m, n);
	rte_pktmbuf_free_bulk(m + sent, n - sent);
	b->put += sent;
}

// Packets before the clock runs: as many of the batch as fill the caches, and two bursts at least.
// In the second one the worker makes up for the time in which others ran.
static unsigned int warm(const struct bench *b)
{
	return RTE_MAX(b->traffic.batch->warm, 2 * b->traffic.point->burst);
}

// With the clock stopped. False: the batch has been received, or a packet was lost.
static bool next(struct bench *b)
{
	if (b->since != 0)
		b->cycles += rte_rdtsc_precise() - b->since;
	b->since = 0;
	take(b);
	if (b->received >= b->traffic.batch->n || b->polls > POLLS_MAX)
		return false;
	put(b);
	if (b->received >= warm(b)) {
		if (b->uncounted == 0)
			b->uncounted = b->received;
		b->since = rte_rdtsc_precise();
	}
	return true;
}

static void count(struct bench *b, uint16_t n)
{
	b->received += n;
	b->polls = n > 0 ? 0 : b->polls + 1;
}

// The rest comes later where the kernel passes frames on.
static double batch_end(struct bench *b)
{
	for (unsigned int i = 0; b->taken < b->received && i < POLLS_MAX; i++)
		take(b);
	if (b->right < b->traffic.batch->n) {
		gateway_pair_print_drops(b->traffic.pair);
		die("of %u packets, %u were received, %u came back, %u are right",
			b->traffic.batch->n, b->received, b->taken, b->right);
	}
	return (double)b->cycles / (b->traffic.batch->n - b->uncounted);
}

static double io(struct bench *b)
{
	const uint16_t in = b->wires.port[b->in].id, out = b->wires.port[b->out].id;
	struct rte_mbuf *m[IO_BURST];

	batch_begin(b, false);
	while (next(b)) {
		uint16_t n = rte_eth_rx_burst(in, 0, m, IO_BURST), sent;

		count(b, n);
		sent = n > 0 ? rte_eth_tx_burst(out, 0, m, n) : 0;
		rte_pktmbuf_free_bulk(m + sent, n - sent);
		// The other direction.
		n = rte_eth_rx_burst(out, 0, m, IO_BURST);
		rte_pktmbuf_free_bulk(m, n);
	}
	return batch_end(b);
}

static uint16_t receive(void *queue, struct rte_mbuf **m, uint16_t n)
{
	struct bench *b = bench;

	if (!next(b)) {
		atomic_store_explicit(&b->loop->phase, LOOP_STOP, memory_order_relaxed);
		return 0;
	}
	n = b->receive(queue, m, n);
	count(b, n);
	return n;
}

static double daemon_run(struct bench *b)
{
	struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[b->wires.port[b->in].id];
	unsigned int id = b->loop->worker->id;

	batch_begin(b, b->traffic.point->dir == DIR_IN);
	bench = b;
	b->receive = ops->rx_pkt_burst;
	ops->rx_pkt_burst = receive;
	atomic_store_explicit(&b->loop->phase, LOOP_RUN, memory_order_relaxed);
	loop_run(b->loop);
	ops->rx_pkt_burst = b->receive;
	// It has ended as a worker, but lanes go on.
	rte_rcu_qsbr_thread_register(b->gateway->qsbr, id);
	rte_rcu_qsbr_thread_online(b->gateway->qsbr, id);
	return batch_end(b);
}

static void nic_burst(struct bench *b, unsigned int first, uint16_t n, bool pass)
{
	struct rte_mbuf *m[POINT_BURST_MAX];
	struct tx_buffer *tx;

	traffic_receive(&b->traffic, m, first, n, (uint16_t)b->in);
	if (!pass) {
		nic_send(m, n);
		return;
	}
	tx = gateway_pass(b->gateway, b->traffic.lane, m, n);
	nic_send(tx->m, tx->n);
	tx->n = 0;
}

static double nic(struct bench *b, bool pass)
{
	const struct batch *batch = b->traffic.batch;
	const unsigned int burst = b->traffic.point->burst;
	unsigned int first;

	batch_begin(b, false);
	for (first = 0; first < batch->n; first += burst) {
		if (b->since == 0 && first >= warm(b)) {
			b->uncounted = first;
			b->since = rte_rdtsc_precise();
		}
		nic_burst(b, first, (uint16_t)RTE_MIN(burst, batch->n - first), pass);
	}
	return (double)(rte_rdtsc_precise() - b->since) / (batch->n - b->uncounted);
}

static double way_run(struct bench *b, unsigned int way)
{
	switch (way) {
	case IO:
		return io(b);
	case DAEMON:
		return daemon_run(b);
	default:
		return nic(b, way == ALL);
	}
}

// The worker of the far gateway is not the first one, and sends by another queue: that of the
// first.
static void queue_lend(struct bench *b, bool back)
{
	const unsigned int id = b->gateway->worker[0]->id;

	for (unsigned int i = 0; i < RTE_DIM(b->wires.port) && id > 0; i++) {
		void **queue = rte_eth_fp_ops[b->wires.port[i].id].txq.data;

		queue[id] = back ? NULL : queue[0];
		b->wires.port[i].n_tx = (uint16_t)(back ? 1 : id + 1);
	}
}

static void loop_begin(struct bench *b)
{
	queue_lend(b, false);
	b->loop = loop_new(b->gateway->worker[0]);
	if (b->loop == NULL || loops_assign(&b->loop, 1, b->wires.port, RTE_DIM(b->wires.port), 1,
				       b->gateway->qsbr) < 0)
		die("no memory for the daemon's loop");
}

static void loop_end(struct bench *b)
{
	worker_sender_set(b->loop->worker, NULL, NULL);
	b->loop->worker = NULL; // the gateway's
	loop_free(b->loop);
	queue_lend(b, true);
}

// The rounds of a point: everything in turn, so that other work of the machine affects all.
static void measure(struct bench *b, unsigned int rounds, bool json)
{
	static double cycles[WAYS][ROUNDS_MAX], pass[ROUNDS_MAX], more[ROUNDS_MAX],
		ratio[ROUNDS_MAX];
	const struct point *p = b->traffic.point;

	for (unsigned int i = 0; i < rounds; i++) {
		for (unsigned int way = 0; way < WAYS; way++)
			cycles[way][i] = way_run(b, way);
		pass[i] = cycles[ALL][i] - cycles[NIC][i];
		more[i] = cycles[DAEMON][i] - cycles[IO][i] - pass[i];
		ratio[i] = (cycles[DAEMON][i] - pass[i]) / cycles[IO][i];
	}
	printf(json ? "{\"port\": \"%s\", \"dir\": \"%s\", \"size\": %u, \"burst\": %u, \"io\": "
		      "%.1f, "
		      "\"daemon\": %.1f, \"pass\": %.1f, \"more\": %.1f, \"ratio\": %.3f}\n"
		    : "%-14s %-4s %5u %5u %8.1f %8.1f %8.1f %8.1f %8.3f\n",
		b->wires.kind->name, dir_names[p->dir], p->size, p->burst,
		median(cycles[IO], rounds), median(cycles[DAEMON], rounds), median(pass, rounds),
		median(more, rounds), median(ratio, rounds));
	fflush(stdout);
}

static void point_measure(struct bench *b, const struct point *p, unsigned int rounds, bool json)
{
	b->traffic = (struct traffic){.point = p, .pool = b->traffic.pool};
	b->traffic.pair = gateway_pair_new(p, b->traffic.pool, 0);
	b->traffic.batch = batch_new(p, 0);
	b->gateway = p->dir == DIR_OUT ? &b->traffic.pair->near : &b->traffic.pair->far;
	b->in = p->dir == DIR_OUT ? PORT_LAN : PORT_WAN;
	b->out = !b->in;
	if (warm(b) >= b->traffic.batch->n)
		die("bursts of %u are too large for packets of this size", p->burst);
	traffic_prepare(&b->traffic);
	loop_begin(b);
	measure(b, rounds, json);
	loop_end(b);
	batch_free(b->traffic.batch);
	gateway_pair_free(b->traffic.pair);
}

// As the daemon makes it by default.
static struct rte_mempool *pool_new(const char *name)
{
	struct rte_mempool *pool =
		packet_pool_new(name, BUFFERS, CACHED, RTE_MBUF_DEFAULT_BUF_SIZE, 0);

	if (pool == NULL)
		die("no memory for packet buffers");
	return pool;
}

// With all points over wires of a kind.
static void kind_measure(struct bench *b, const struct wire_kind *kind, const struct options *o)
{
	wires_open(&b->wires, kind, o->args, o->peer_args, b->traffic.pool, b->peer_pool);
	for (size_t i = 0; i < o->points.n; i++)
		point_measure(b, &o->points.p[i], o->rounds, o->json);
	wires_close(&b->wires);
}

int main(int argc, char **argv)
{
	struct lists lists = {
		{"aes-128-gcm", "auto", "1", "1000", "1", "32", "out,in", "64,512,1400"}};
	struct options o = {.args = "", .peer_args = "", .rounds = ROUNDS};
	const struct option_row rows[] = {{"port", .text = &o.port}, {"args", .text = &o.args},
		{"peer", .text = &o.peer_args}, {"dir", .text = &lists.of[DIM_DIR]},
		{"size", .text = &lists.of[DIM_SIZE]}, {"burst", .text = &lists.of[DIM_BURST]},
		{"rounds", .number = &o.rounds, .max = ROUNDS_MAX}, {"json", .flag = &o.json}};
	static struct bench b;
	bool known = false;

	option_rows_read(rows, RTE_DIM(rows), argc, argv);
	points_add(&o.points, &lists);
	nic_start(1);
	b.traffic.pool = pool_new("gateway");
	b.peer_pool = pool_new("peer");
	if (!o.json)
		printf("%-14s %-4s %5s %5s %8s %8s %8s %8s %8s\n", "port", "dir", "size", "burst",
			"io", "daemon", "pass", "more", "ratio");
	for (const struct wire_kind *k = wire_kinds; k->name != NULL; k++) {
		if (o.port != NULL ? strcmp(o.port, k->name) != 0 : k->kernel)
			continue;
		kind_measure(&b, k, &o);
		known = true;
	}
	free(o.points.p);
	nic_stop();
	if (!known)
		die("there is no port '%s'", o.port);
	return EXIT_SUCCESS;
}
