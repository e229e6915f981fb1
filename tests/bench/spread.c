// SPDX-License-Identifier: BSD-3-Clause
// How one tunnel spreads over workers: packets in a second of one gateway, whose workers take turns
// on one CPU, each with a clock of its own: so a machine needs no core for each worker.
//
//   bench_spread [--own] [--alg CIPHER[+AUTH]] [--engine NAME] [--dir out|in] [--size OCTETS|imix]
//                [--sas N] [--flows N] [--burst N] [--workers N] [--json]
//
// Values may be lists: then every combination is measured. The worker whose clock shows least does
// the next step, and its clock advances by the time that this takes: packets arrive as fast as they
// are taken. Interference between cores of a real machine is not in the figures: lines that go from
// cache to cache, shared caches, power. Cards cost nothing here. With --own,
// instructions of the gateway's code for each packet are counted as well, of all workers, without
// those of libraries: that takes half a minute for a row.

#include <stdlib.h>
#include <string.h>

#include <rte_esp.h>
#include <rte_udp.h>

#include "clocks.h"
#include "core.h"
#include "fanout.h"
#include "handover.h"
#include "lists.h"
#include "median.h"
#include "step.h"
#include "traffic.h"

#define PACKETS   20000 // of a round; those of the first one are not measured
#define ROUNDS    11    // of which the median counts
#define COUNTED   1000  // packets whose instructions are counted
#define FLOWS_MAX 4096
// Frames that wait in all queues of the card, which are always full: workers find them where a card
// has written them, not in their nearest caches.
#define WAITING 512
// No part of a turn takes so long, a fraction of a second.
#define INTERRUPTED 5000

// Where the frames come from.
enum setup { ONE_QUEUE, QUEUES, SETUPS };

static const char *const setup_names[SETUPS] = {"one queue", "queue per worker"};

// Parts of a worker's turn, as in the daemon (loop.c): received packets, packets handed over, and
// lanes. Other workers run between two parts.
enum part { RECEIVE, PASS, HELP, KEEP, PARTS };

struct queue {
	struct traffic traffic;
	unsigned int next; // packet of the batch
	struct rte_mbuf *waiting[WAITING];
	unsigned int n, first; // of these
};

struct line {
	struct point point, one_lane; // the same with one worker
	enum setup setup;
	struct gateway_pair *pair;
	struct queue queue[POINT_WORKERS_MAX];    // by worker
	struct clocks clocks;                     // of the workers
	unsigned int part[POINT_WORKERS_MAX];     // the next of its turn
	unsigned int bursts[POINT_WORKERS_MAX];   // received in a row
	uint64_t usual[POINT_WORKERS_MAX][PARTS]; // cycles that the part took last
	uint64_t from;                            // TSC when a part began
	uint64_t interrupted;                     // cycles that no part takes
	uint64_t sent, late;
	bool counting;            // instructions,
	uint64_t own;             // of the gateway's code
	uint64_t last[FLOWS_MAX]; // mark of the flow's last packet; of ESP packets: number, by SA
};

static void clock_start(struct line *l)
{
	if (l->counting)
		step_begin();
	l->from = rte_rdtsc();
}

// The worker has spent the time since clock_start() on a part of its turn. If that is too long, it
// was interrupted: it took as long as the last time.
static void clock_stop(struct line *l, unsigned int worker)
{
	uint64_t spent = rte_rdtsc() - l->from, *usual = &l->usual[worker][l->part[worker]];

	if (l->counting) {
		step_end();
		l->own += step_own();
	}
	if (spent > l->interrupted)
		spent = *usual;
	*usual = spent;
	l->clocks.at[worker] += spent;
}

// --- the traffic ---

// A packet of the other site's, from the one of this site's that would be sent there.
static void turn_round(uint8_t *frame)
{
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(frame + RTE_ETHER_HDR_LEN);
	struct rte_udp_hdr *udp = (struct rte_udp_hdr *)(ip + 1);

	RTE_SWAP(ip->src_addr, ip->dst_addr);
	RTE_SWAP(udp->src_port, udp->dst_port);
}

static void batch_seal(struct line *l, const struct traffic *t)
{
	struct batch *b = t->batch;
	uint16_t burst = (uint16_t)l->point.burst;

	for (unsigned int first = 0; first < b->n; first += burst) {
		struct rte_mbuf *m[POINT_BURST_MAX];
		struct tx_buffer *tx = &l->pair->far.worker[0]->tx[PORT_WAN];

		for (unsigned int i = first; i < first + burst; i++)
			turn_round(batch_frame(b, i));
		traffic_receive(t, m, first, burst, PORT_LAN);
		gateway_pass(&l->pair->far, 0, m, burst);
		if (tx->n != burst)
			die("of %u packets, the peer sent %u", burst, tx->n);
		for (uint16_t i = 0; i < burst; i++)
			batch_replace(b, first + i, rte_pktmbuf_mtod(tx->m[i], const uint8_t *),
				rte_pktmbuf_data_len(tx->m[i]));
		nic_send(tx->m, tx->n);
		tx->n = 0;
	}
}

// The card receives a burst, in the places that n frames before first had.
static void frames_arrive(struct line *l, struct queue *q)
{
	uint16_t burst = (uint16_t)l->point.burst;
	bool in = l->point.dir == DIR_IN;

	if (q->next == q->traffic.batch->n) {
		batch_fill(q->traffic.batch);
		if (in)
			batch_seal(l, &q->traffic);
		q->next = 0;
	}
	traffic_receive(
		&q->traffic, &q->waiting[q->first], q->next, burst, in ? PORT_WAN : PORT_LAN);
	q->next += burst;
	q->first = (q->first + burst) % q->n;
}

static void queue_fill(struct line *l, struct queue *q)
{
	unsigned int bursts = WAITING / l->point.burst;

	if (l->setup == QUEUES)
		bursts /= l->point.workers;
	q->n = bursts * l->point.burst;
	if (bursts == 0)
		die("bursts of %u are too large for so many queues", l->point.burst);
	for (unsigned int i = 0; i < bursts; i++)
		frames_arrive(l, q);
}

// Takes the next burst from the worker's queue.
static uint16_t frames_take(struct line *l, unsigned int worker, struct rte_mbuf *m[])
{
	struct queue *q = &l->queue[worker];
	uint16_t burst = (uint16_t)l->point.burst;

	if (q->traffic.batch == NULL)
		return 0;
	memcpy(m, &q->waiting[q->first], burst * sizeof(m[0]));
	frames_arrive(l, q);
	return burst;
}

// Sent packets that follow a later one of their flow or, if they are ESP packets, of their SA.
static void sent_check(struct line *l, const struct tx_buffer *tx, bool esp)
{
	for (uint16_t i = 0; i < tx->n; i++) {
		const struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(
			tx->m[i], const struct rte_ipv4_hdr *, RTE_ETHER_HDR_LEN);
		const struct rte_udp_hdr *udp = (const struct rte_udp_hdr *)(ip + 1);
		const struct rte_esp_hdr *header = (const struct rte_esp_hdr *)(ip + 1);
		uint64_t number = 0;
		uint32_t of;

		if (esp) {
			number = rte_be_to_cpu_32(header->seq);
			of = rte_be_to_cpu_32(header->spi);
		} else {
			memcpy(&number, udp + 1, sizeof(number));
			number++; // none is 0
			of = rte_be_to_cpu_16(udp->dst_port);
		}
		of %= FLOWS_MAX;
		l->late += number < l->last[of];
		l->last[of] = RTE_MAX(l->last[of], number);
	}
	l->sent += tx->n;
}

// --- the workers ---

static void send_buffer(struct line *l, unsigned int worker, uint16_t port)
{
	struct tx_buffer *tx = &l->pair->near.worker[worker]->tx[port];

	sent_check(l, tx, port == PORT_WAN);
	nic_send(tx->m, tx->n);
	tx->n = 0;
}

// The buffer of a port is full within a part of a turn.
static void send_full(void *line, uint16_t port)
{
	struct line *l = line;
	const unsigned int worker = l->clocks.last;

	clock_stop(l, worker);
	send_buffer(l, worker, port);
	clock_start(l);
}

// The worker has worked since clock_start(): it sends the results.
static void send_all(struct line *l, unsigned int worker)
{
	struct worker *w = l->pair->near.worker[worker];

	worker_mbufs_free(w);
	clock_stop(l, worker);
	for (uint16_t port = 0; port <= PORT_WAN; port++)
		send_buffer(l, worker, port);
	w->to_wake = 0; // all are awake
}

// One burst. *more: the same is to be done again before anything else.
static bool receive(struct line *l, unsigned int worker, bool *more)
{
	struct worker *w = l->pair->near.worker[worker];
	struct rte_mbuf *m[POINT_BURST_MAX];
	uint16_t n;

	if (w->fanout != NULL && !fanout_has_room(w))
		return false;
	n = frames_take(l, worker, m);
	if (n == 0)
		return false;
	clock_start(l);
	if (w->fanout != NULL) {
		n = fanout_receive(w, m, n);
		if (l->setup == ONE_QUEUE)
			n = fanout_spread(w, m, n);
	}
	if (n > 0)
		pipeline_pass(w, m, n, rte_rdtsc());
	l->bursts[worker]++;
	*more = w->fanout != NULL && n < l->point.burst && fanout_is_short(w, l->bursts[worker]);
	return true;
}

static bool pass(struct worker *w)
{
	struct rte_mbuf *m[POINT_BURST_MAX];
	uint16_t n = 0;

	if (!fanout_is_behind(w))
		n = (uint16_t)rte_ring_dequeue_burst(w->frames, (void **)m, POINT_BURST_MAX, NULL);
	if (n == 0 && !handover_pending(w))
		return false;
	pipeline_pass(w, m, n, rte_rdtsc());
	return true;
}

static bool part_do(struct line *l, unsigned int worker, enum part part, bool *more)
{
	struct worker *w = l->pair->near.worker[worker];

	if (part == RECEIVE)
		return receive(l, worker, more);
	if (w->fanout == NULL)
		return false;
	clock_start(l);
	if (part == PASS)
		return pass(w);
	if (part == HELP)
		return fanout_can_help(w) && pipeline_help(w, rte_rdtsc());
	return fanout_pending(w) && pipeline_keep(w, rte_rdtsc()) > 0;
}

// The worker whose clock shows least does the next part of its turn that has work.
static void step(struct line *l)
{
	const unsigned int i = clocks_next(&l->clocks);
	struct worker *w = l->pair->near.worker[i];
	bool worked = false, more = false;

	for (unsigned int k = 0; k < PARTS && !worked; k++) {
		worked = part_do(l, i, l->part[i], &more);
		if (worked)
			send_all(l, i);
		else if (l->counting)
			step_end();
		if (more)
			continue;
		l->part[i] = (l->part[i] + 1) % PARTS;
		l->bursts[i] = 0;
	}
	if (!worked)
		clocks_wait(&l->clocks);
	rte_rcu_qsbr_quiescent(l->pair->qsbr, w->id);
}

static uint64_t dropped(const struct line *l, enum drop reason)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < l->point.workers; i++)
		n += l->pair->near.worker[i]->counters.drops[reason];
	return n;
}

// Runs until that many packets were sent in total.
static uint64_t run_until(struct line *l, uint64_t packets)
{
	uint64_t end = 0;

	for (uint64_t steps = 0; l->sent < packets; steps++) {
		step(l);
		if (steps > packets) {
			gateway_pair_print_drops(l->pair);
			die("of %lu packets, %lu were sent", packets, l->sent);
		}
	}
	for (unsigned int i = 0; i < l->point.workers; i++)
		end = RTE_MAX(end, l->clocks.at[i]);
	return end;
}

static void neighbours_add(const struct line *l)
{
	struct rte_ether_addr mac = GATEWAY_MAC;
	struct ip_addr peer = ip_addr_from_v4(rte_cpu_to_be_32(RTE_IPV4(192, 0, 2, 1)));

	for (uint32_t i = 0; i <= l->point.flows / FLOWS_MAX; i++) {
		struct ip_addr host = ip_addr_from_v4(rte_cpu_to_be_32(HOST_NEAR + i));

		if (neigh_set_static(l->pair->neigh, PORT_LAN, &host, &mac) < 0)
			die("no room for neighbours");
	}
	if (neigh_set_static(l->pair->neigh, PORT_WAN, &peer, &mac) < 0)
		die("no room for neighbours");
}

static void line_open(struct line *l, struct rte_mempool *pool)
{
	bool queues = l->setup == QUEUES;
	struct hash_key key;

	if (hash_key_draw(&key) < 0)
		die("no random numbers");
	l->clocks.n = l->point.workers;
	l->one_lane = l->point;
	l->one_lane.workers = 1;
	l->pair = gateway_pair_new(&l->point, pool, 0);
	neighbours_add(l);
	for (unsigned int i = 0; i < (queues ? l->point.workers : 1); i++)
		l->queue[i].traffic = (struct traffic){.point = &l->point,
			.pool = pool,
			.pair = l->pair,
			.batch = batch_new(queues ? &l->point : &l->one_lane, i)};
	for (unsigned int i = 0; i < l->point.workers; i++)
		if (l->queue[i].traffic.batch != NULL)
			l->queue[i].next = l->queue[i].traffic.batch->n;
	for (unsigned int i = 0; i < l->point.workers; i++) {
		worker_sender_set(l->pair->near.worker[i], send_full, l);
		if (l->queue[i].traffic.batch != NULL)
			queue_fill(l, &l->queue[i]);
	}
	if (l->point.workers == 1)
		return;
	for (unsigned int i = 0; i < l->point.workers; i++) {
		l->pair->near.worker[i]->hash_key = key;
		worker_peers_set(l->pair->near.worker[i], l->pair->near.worker, l->point.workers);
	}
	if (fanout_start(l->pair->near.worker, l->point.workers) < 0)
		die("no memory");
}

static void line_close(struct line *l)
{
	for (unsigned int i = 0; i < l->point.workers; i++) {
		pipeline_stop(l->pair->near.worker[i]);
		if (l->queue[i].traffic.batch == NULL)
			continue;
		batch_free(l->queue[i].traffic.batch);
		nic_send(l->queue[i].waiting, (uint16_t)l->queue[i].n);
	}
	gateway_pair_free(l->pair);
}

static double mpps_measure(struct line *l)
{
	uint64_t began = run_until(l, PACKETS);
	double mpps[ROUNDS];

	for (unsigned int i = 0; i < ROUNDS; i++) {
		uint64_t ended = run_until(l, (i + 2) * PACKETS);

		mpps[i] =
			(double)PACKETS * (double)rte_get_tsc_hz() / 1e6 / (double)(ended - began);
		began = ended;
	}
	return median(mpps, ROUNDS);
}

static double own_count(struct line *l)
{
	uint64_t before = l->sent;

	for (unsigned int i = 0; i < l->point.workers; i++)
		l->pair->near.worker[i]->next_tick = UINT64_MAX; // no work of the next millisecond
	l->counting = true;
	run_until(l, before + COUNTED);
	l->counting = false;
	return (double)l->own / (double)(l->sent - before);
}

// Returns whether all packets were in order, none fell out of the replay window, and all were sent
// that could be.
static bool measure(
	const struct point *p, enum setup setup, struct rte_mempool *pool, bool counts, bool json)
{
	static struct line l;
	char alg[POINT_ALG_MAX], size[POINT_SIZE_TEXT];
	uint64_t lost;
	double mpps, own;

	l = (struct line){
		.point = *p, .setup = setup, .interrupted = rte_get_tsc_hz() / INTERRUPTED};
	line_open(&l, pool);
	mpps = mpps_measure(&l);
	own = counts ? own_count(&l) : 0;
	lost = dropped(&l, DROP_REPLAY) + dropped(&l, DROP_TX_FULL);
	if (json)
		printf("{\"core_clock\":%.3f,", core_measure().clock);
	printf(json ? "\"setup\":\"%s\",\"dir\":\"%s\",\"alg\":\"%s\",\"size\":\"%s\","
		      "\"workers\":%u,\"sas\":%u,\"mpps\":%.3f,\"own\":%.0f,\"late\":%lu,\"lost\":%"
		      "lu}\n"
		    : "%-16s %-3s %-26s %5s %7u %5u %7.3f %5.0f %5lu %5lu\n",
		setup_names[setup], dir_names[p->dir], point_alg(alg, p), point_size(size, p),
		p->workers, p->sas, mpps, own, l.late, lost);
	fflush(stdout);
	line_close(&l);
	return l.late == 0 && lost == 0;
}

int main(int argc, char **argv)
{
	struct lists lists = {
		{"aes-128-gcm,aes-128-cbc", "auto", "1", "64", "1,2,4", "32", "out,in", "1400"}};
	const bool counts = argc > 1 && strcmp(argv[1], "--own") == 0;
	bool json = lists_read(&lists, argc - counts, argv + counts), good = true;
	struct points points = {0};
	struct rte_mempool *pool = nic_start(POINT_WORKERS_MAX);

	points_add(&points, &lists);
	if (!json)
		printf("core clock %.2f: core cycles in a TSC cycle\n"
		       "%-16s %-3s %-26s %5s %7s %5s %7s %5s %5s %5s\n",
			core_measure().clock, "setup", "dir", "alg", "size", "workers", "SAs",
			"Mpps", "own", "late", "lost");
	for (size_t i = 0; i < points.n; i++) {
		const struct point *p = &points.p[i];

		if (p->dir == DIR_LOOP)
			die("dir: one of out, in");
		good &= measure(p, ONE_QUEUE, pool, counts, json);
		if (p->dir == DIR_OUT && p->workers > 1)
			good &= measure(p, QUEUES, pool, counts, json);
	}
	free(points.p);
	nic_stop();
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
