// SPDX-License-Identifier: BSD-3-Clause
// The ports of bench_latency, which is otherwise culvertd: they are in memory, and packets have
// planned times of arrival. Started by tests/bench/latency, which has the other side of the memory
// that both share.
//
// A worker that polls the port gets all packets planned until then, at most a burst of them. So no
// other thread has to bring them, and a packet also waits while the worker does something else, or
// does not run. When the worker sends it, the time since the planned one is counted.
//
// Ports are opened with the driver net_null; each worker replaces its functions when it begins.
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf_dyn.h>
#include <rte_memcpy.h>

#include "die.h"
#include "loop.h"

#define WORKERS  16
#define BINS     2048
#define FRACTION 16 // bits of step
// Before the first packet, all workers see the order, also sleeping ones.
#define DELAY_PER_S 500
#define SLICE_PER_S 100
// Reading the clock again and again takes less, a fraction of a second.
#define GAP_PER_S 10000000

enum kind {
	PACE,    // packets at their times
	CLOCK,   // no packets: the times without the CPU of a thread that only reads the clock
	CAPTURE, // as PACE, and keeps the frames that are sent
};

// Of one worker in one measurement.
struct part {
	_Atomic uint64_t done; // the last order whose packets it has received
	uint64_t sent;
	uint64_t from, to; // TSC of the first packet's arrival, and of the last one's sending
	uint64_t round;    // longest time from one poll of its port to the next
	uint64_t bins[BINS];
};

// All of 64 bits: the script has the same.
struct shared {
	_Atomic uint64_t order; // its number; the script sets it after all else
	uint64_t kind;
	uint64_t queues;  // the number of workers
	uint64_t step;    // TSC cycles between two packets of a queue, with FRACTION
	uint64_t packets; // of a queue; of CLOCK: slices
	uint64_t warm;    // TSC cycles from the first packet's arrival that do not count
	uint64_t port;    // 0 or 1: the gateway's port that receives
	uint64_t n_frames, stride;
	uint64_t tsc_hz; // written here, the rest below as well
	_Atomic uint64_t captured;
	uint64_t len[2]; // octets of a frame: received, and captured
	uint64_t unused[3];
	struct part part[WORKERS];
	// n_frames of stride octets to be received in turn, and room for as many captured ones
	uint8_t frames[];
};

struct queue {
	struct rte_mempool *pool;
	struct part *part;
	enum kind kind;
	uint64_t order, packets, received;
	uint64_t asked; // TSC of the last poll
	uint64_t count_from;
	unsigned int frame, id;
};

static struct shared *shared;
static struct queue queues[WORKERS];
static void *queue_data[WORKERS], *callbacks[WORKERS];
static int stamp_offset;

// --- figures ---

// 32 bins for each power of two.
static unsigned int bin(uint64_t v)
{
	unsigned int bits = 63 - (unsigned int)__builtin_clzll(v | 32);

	return (bits - 5) * 32 + (unsigned int)(v >> (bits - 5));
}

static uint64_t bin_begin(unsigned int i)
{
	return i < 64 ? i : (uint64_t)(32 + i % 32) << (i / 32 - 1);
}

// A packet that arrives in the gap waits until its end: each cycle of it counts as one packet.
static void gap_add(struct part *p, uint64_t gap)
{
	for (unsigned int i = 0; bin_begin(i) < gap; i++)
		p->bins[i] += RTE_MIN(bin_begin(i + 1), gap) - bin_begin(i);
}

// --- the ports ---

static uint64_t *stamp(struct rte_mbuf *m)
{
	return RTE_MBUF_DYNFIELD(m, stamp_offset, uint64_t *);
}

static uint64_t planned(const struct queue *q)
{
	return q->part->from + (q->received * shared->step >> FRACTION);
}

static void begin(struct queue *q, uint64_t order, uint64_t now)
{
	struct part *p = q->part;

	q->order = order;
	q->kind = (enum kind)shared->kind;
	q->packets = shared->packets;
	q->received = 0;
	q->frame = q->id;
	p->sent = p->round = 0;
	p->from = p->to = now + shared->tsc_hz / DELAY_PER_S;
	q->asked = q->count_from = p->from + shared->warm;
	memset(p->bins, 0, sizeof(p->bins));
}

// A slice of it, so that the control thread sees the worker move.
static void watch_clock(struct queue *q)
{
	const uint64_t tiny = shared->tsc_hz / GAP_PER_S;
	uint64_t from = rte_rdtsc(), last = from, now;

	do {
		now = rte_rdtsc();
		if (unlikely(now - last > tiny))
			gap_add(q->part, now - last);
		else
			q->part->bins[0] += now - last;
		last = now;
	} while (now - from < shared->tsc_hz / SLICE_PER_S);
}

// The next frame of the queue, whose flows no other queue has.
static void frame_receive(struct queue *q, struct rte_mbuf *m, uint64_t at)
{
	const uint16_t len = (uint16_t)shared->len[0];

	m->data_off = RTE_PKTMBUF_HEADROOM;
	m->port = (uint16_t)shared->port;
	m->ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD;
	m->packet_type = 0;
	m->pkt_len = m->data_len = len;
	rte_memcpy(rte_pktmbuf_mtod(m, void *), shared->frames + q->frame * shared->stride, len);
	*stamp(m) = at;
	q->frame += (unsigned int)shared->queues;
	if (q->frame >= shared->n_frames)
		q->frame = q->id;
}

static void order_follow(struct queue *q, uint64_t now)
{
	const uint64_t order = atomic_load_explicit(&shared->order, memory_order_acquire);

	if (order != q->order)
		begin(q, order, now);
	else if (q->received == q->packets)
		atomic_store_explicit(&q->part->done, order, memory_order_release);
}

static uint16_t receive(void *queue, struct rte_mbuf **m, uint16_t n)
{
	struct queue *q = queue;
	uint64_t at[LOOP_BURST], now = rte_rdtsc();
	uint16_t due = 0;

	if (unlikely(q->received == q->packets)) {
		order_follow(q, now);
		return 0;
	}
	if (unlikely(q->kind == CLOCK)) {
		watch_clock(q);
		q->received++;
		return 0;
	}
	if (now > q->asked) {
		q->part->round = RTE_MAX(q->part->round, now - q->asked);
		q->asked = now;
	}
	for (; due < n && q->received < q->packets && (at[due] = planned(q)) <= now; due++)
		q->received++;
	if (unlikely(rte_mempool_get_bulk(q->pool, (void **)m, due) < 0))
		die("no packet buffers");
	for (uint16_t i = 0; i < due; i++)
		frame_receive(q, m[i], at[i]);
	return due;
}

static uint16_t receive_nothing(void *queue, struct rte_mbuf **m, uint16_t n)
{
	(void)queue;
	(void)m;
	(void)n;
	return 0;
}

static void capture(const struct rte_mbuf *m)
{
	uint64_t n = atomic_load(&shared->captured);

	if (n == shared->n_frames || m->data_len > shared->stride)
		die("too many frames are sent, or one of %u octets", m->data_len);
	rte_memcpy(shared->frames + (shared->n_frames + n) * shared->stride,
		rte_pktmbuf_mtod(m, const void *), m->data_len);
	shared->len[1] = m->data_len;
	atomic_store(&shared->captured, n + 1);
}

static uint16_t transmit(void *queue, struct rte_mbuf **m, uint16_t n)
{
	struct queue *q = queue;
	const uint64_t now = rte_rdtsc();

	for (uint16_t i = 0; i < n; i++) {
		const uint64_t at = *stamp(m[i]);

		if (at == 0) // the gateway's own
			continue;
		*stamp(m[i]) = 0;
		q->part->sent++;
		q->part->to = now;
		if (likely(at >= q->count_from))
			q->part->bins[bin(now - at)]++;
		if (unlikely(q->kind == CAPTURE))
			capture(m[i]);
	}
	rte_pktmbuf_free_bulk(m, n);
	return n;
}

// --- the daemon ---

__attribute__((constructor)) static void memory_open(void)
{
	const char *path = getenv("CULVERT_LATENCY");
	int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
	struct stat s;

	if (fd < 0 || fstat(fd, &s) < 0)
		die("to be started by tests/bench/latency");
	shared = mmap(
		NULL, (size_t)s.st_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (shared == MAP_FAILED)
		die("no memory");
	close(fd);
}

int __real_loop_run(void *arg);
int __wrap_loop_run(void *arg);

// Before the worker begins: DPDK's functions read a port's functions and queues here.
int __wrap_loop_run(void *arg)
{
	const struct loop *l = arg;
	const unsigned int id = l->worker->id;
	uint64_t flag;

	if (rte_mbuf_dyn_rx_timestamp_register(&stamp_offset, &flag) < 0)
		die("no room for times in packet buffers");
	shared->tsc_hz = rte_get_tsc_hz();
	queues[id] = (struct queue){.pool = l->worker->pool,
		.part = &shared->part[id],
		.id = id,
		.order = shared->order}; // that of a daemon before
	queue_data[id] = &queues[id];
	for (unsigned int port = 0; port < 2; port++) {
		struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[l->ports[port].id];

		ops->rx_pkt_burst = port == shared->port ? receive : receive_nothing;
		ops->tx_pkt_burst = transmit;
		ops->rxq.data = ops->txq.data = queue_data;
		ops->rxq.clbk = ops->txq.clbk = callbacks;
	}
	return __real_loop_run(arg);
}
