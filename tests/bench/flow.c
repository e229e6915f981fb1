// SPDX-License-Identifier: BSD-3-Clause
// The cost of the flow table, in TSC cycles:
//
//   bench_flow [--flows N]... [--json]
//
//   cycles_hit     a packet of a TCP connection in the table, in bursts of 32 of random flows and
//                  directions: parse headers, find the flow, update state and windows, read the
//                  decision
//   of_it_read     of these, parsing the headers
//   of_it_misses   of these, cache misses: the difference to the cost with one flow
//   new_per_s      connections per second that one worker inserts: look-up, insertion, tracking
//   cycles_expire  a flow that has timed out: found by ageing, removed, its memory reclaimed
//   cycles_age     an entry in use that ageing visits
//
// Figures are medians of several rounds on one CPU. No memory of DPDK's is used.
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_tcp.h>

#include "core.h"
#include "flow_lookup.h"
#include "flow_track.h"
#include "median.h"

#define BURST       32
#define ROUNDS      9
#define HITS_MIN    (1u << 19) // packets in a round
#define CREATED_MIN (1u << 16) // flows in a round
#define GENERATION  1
#define SIZES_MAX   16

struct packet {
	struct rte_ipv4_hdr ip;
	struct rte_tcp_hdr tcp;
} __rte_cache_aligned;

struct bench {
	uint32_t n; // flows
	uint32_t entries;
	struct flow_table *t;
	struct rte_rcu_qsbr *qsbr;
	uint32_t *seq[2]; // next segment of each direction, by flow
	uint32_t *order;  // the order of flows in a round
	uint64_t random;
	uint32_t now;
	struct packet packet[BURST];
};

enum figure { HIT, READ, NEW, EXPIRE, AGE, FIGURES };

struct row {
	uint32_t flows;
	size_t memory;
	double figure[FIGURES][ROUNDS];
};

static double tsc_hz;

static void measure_tsc(void)
{
	struct timespec a, b;
	uint64_t start = rte_rdtsc_precise();
	double s;

	clock_gettime(CLOCK_MONOTONIC, &a);
	do {
		clock_gettime(CLOCK_MONOTONIC, &b);
		s = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) * 1e-9;
	} while (s < 0.1);
	tsc_hz = (double)(rte_rdtsc_precise() - start) / s;
}

static void pin(void)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(sched_getcpu(), &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

static void *take(size_t len)
{
	void *p = aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_ALIGN_CEIL(len, RTE_CACHE_LINE_SIZE));

	if (p == NULL) {
		perror("memory");
		exit(EXIT_FAILURE);
	}
	memset(p, 0, len);
	return p;
}

static uint32_t random_below(struct bench *b, uint32_t n)
{
	b->random ^= b->random << 13;
	b->random ^= b->random >> 7;
	b->random ^= b->random << 17;
	return (uint32_t)((b->random >> 32) * n >> 32);
}

static void bench_init(struct bench *b, struct row *row)
{
	struct flow_params p = {.capacity = RTE_MAX(row->flows, 1024u), .workers = 1, .reader = 1};
	struct flow_config c;

	*b = (struct bench){.n = row->flows, .random = 42};
	b->qsbr = take(rte_rcu_qsbr_get_memsize(2));
	rte_rcu_qsbr_init(b->qsbr, 2);
	rte_rcu_qsbr_thread_register(b->qsbr, 0);
	rte_rcu_qsbr_thread_register(b->qsbr, 1);
	rte_rcu_qsbr_thread_online(b->qsbr, 0);
	p.qsbr = b->qsbr;
	row->memory = flow_table_memory(&p);
	flow_config_init(&c);
	b->t = flow_table_new(&p, &c);
	if (b->t == NULL) {
		perror("flow_table_new");
		exit(EXIT_FAILURE);
	}
	b->entries = b->t->n_entries;
	while (flow_table_fill(b->t))
		;
	b->seq[0] = take(b->n * sizeof(uint32_t));
	b->seq[1] = take(b->n * sizeof(uint32_t));
	b->order = take(b->n * sizeof(uint32_t));
	for (uint32_t i = 0; i < b->n; i++) { // Fisher-Yates shuffle.
		uint32_t j = random_below(b, i + 1);

		b->order[i] = b->order[j];
		b->order[j] = i;
	}
}

static void bench_fini(struct bench *b)
{
	flow_table_free(b->t);
	free(b->qsbr);
	free(b->seq[0]);
	free(b->seq[1]);
	free(b->order);
}

// Flow i: from 10.x.x.x:1024.. to 192.0.2.x:443.
static void write_packet(struct bench *b, struct packet *p, uint32_t i, unsigned int dir,
	uint8_t flags, uint16_t len)
{
	rte_be32_t addr[2] = {
		rte_cpu_to_be_32(0x0a000000 + i / 8), rte_cpu_to_be_32(0xc0000200 + (i & 0xff))};
	rte_be16_t port[2] = {rte_cpu_to_be_16((uint16_t)(1024 + i % 50000)), RTE_BE16(443)};

	*p = (struct packet){
		.ip = {.version_ihl = RTE_IPV4_VHL_DEF,
			.total_length = rte_cpu_to_be_16((uint16_t)(40 + len)),
			.time_to_live = 64,
			.next_proto_id = IPPROTO_TCP,
			.src_addr = addr[dir],
			.dst_addr = addr[!dir]},
		.tcp = {.src_port = port[dir],
			.dst_port = port[!dir],
			.sent_seq = rte_cpu_to_be_32(b->seq[dir][i]),
			.recv_ack =
				rte_cpu_to_be_32(flags != RTE_TCP_SYN_FLAG ? b->seq[!dir][i] : 0),
			.data_off = 5 << 4,
			.tcp_flags = flags,
			.rx_win = RTE_BE16(60000)},
	};
	b->seq[dir][i] += len + (uint32_t)((flags & RTE_TCP_SYN_FLAG) != 0);
}

// The work of a worker for a burst. Returns its cycles, and in *read those for parsing headers.
static uint64_t pass(struct bench *b, unsigned int n, uint64_t *read)
{
	struct flow_pkt p[BURST];
	union flow_place place[BURST];
	struct flow_index *x = flow_index(b->t);
	struct flow_decision d;
	unsigned int refused = 0;
	uint64_t start = rte_rdtsc_precise();

	for (unsigned int i = 0; i < n; i++) {
		const struct ip_layout at = ip_layout_v4(&b->packet[i].ip);

		refused += flow_lookup_read(b->t, x, &p[i], &b->packet[i].ip, &at, &place[i]) !=
			   DROP_NONE;
	}
	*read += rte_rdtsc() - start;
	flow_find_burst(b->t, x, p, place, n);
	for (unsigned int i = 0; i < n; i++) {
		struct flow_dir *own = place[i].own;
		struct flow *f = own != NULL && likely(flow_is_of_packet(own, &p[i], true))
					 ? flow_of_packet(own, &p[i])
					 : flow_find(b->t, &p[i]);

		if (unlikely(f == NULL &&
			     flow_insert(b->t, 0, &p[i], NULL, 0, b->now, NULL, &f) != DROP_NONE)) {
			refused++;
			continue;
		}
		refused += flow_track(b->t, 0, f, &p[i], b->now) != DROP_NONE;
		if (!flow_decision_get(f, p[i].dir, GENERATION, &d)) {
			d = (struct flow_decision){0};
			flow_decision_set(f, p[i].dir, GENERATION, &d);
		}
	}

	uint64_t cycles = rte_rdtsc_precise() - start;

	if (refused > 0) {
		fprintf(stderr, "%u packets refused\n", refused);
		exit(EXIT_FAILURE);
	}
	rte_rcu_qsbr_quiescent(b->qsbr, 0);
	return cycles;
}

// One segment of every flow, in an order unrelated to their place in memory. Returns the cycles.
static uint64_t segment_of_each(struct bench *b, unsigned int dir, uint8_t flags)
{
	uint64_t cycles = 0, read = 0;

	for (uint32_t i = 0; i < b->n; i += BURST) {
		unsigned int n = RTE_MIN(b->n - i, (uint32_t)BURST);

		for (unsigned int j = 0; j < n; j++)
			write_packet(b, &b->packet[j], b->order[i + j], dir, flags, 0);
		cycles += pass(b, n, &read);
	}
	return cycles;
}

static uint64_t age(struct bench *b)
{
	uint64_t start = rte_rdtsc_precise();

	flow_tick(b->t, 0, b->now, b->entries);
	rte_rcu_qsbr_quiescent(b->qsbr, 0);
	flow_tick(b->t, 0, b->now, 0); // starts a grace period
	rte_rcu_qsbr_quiescent(b->qsbr, 0);
	flow_tick(b->t, 0, b->now, 0);
	return rte_rdtsc_precise() - start;
}

static void measure_ends(struct bench *b, struct row *row, unsigned int round)
{
	uint32_t times = RTE_MAX(1u, CREATED_MIN / b->n);
	uint64_t created = 0, expired = 0, empty = 0, used = 0;

	for (uint32_t i = 0; i < times; i++) {
		empty += age(b);
		created += segment_of_each(b, 0, RTE_TCP_SYN_FLAG);
		used += age(b);
		b->now += 121 * 1000;
		expired += age(b);
		if (flow_count(b->t) != 0) {
			fprintf(stderr, "%lu of %u flows have not expired\n", flow_count(b->t),
				b->n);
			exit(EXIT_FAILURE);
		}
	}

	double flows = (double)b->n * times;

	row->figure[NEW][round] = tsc_hz / ((double)created / flows);
	row->figure[EXPIRE][round] = ((double)expired - (double)empty) / flows;
	row->figure[AGE][round] = ((double)used - (double)empty) / flows +
				  (double)empty / ((double)b->entries * times);
}

static void measure_hits(struct bench *b, struct row *row, unsigned int round)
{
	uint32_t bursts = RTE_MAX(HITS_MIN, b->n) / BURST;
	uint64_t cycles = 0, read = 0;

	segment_of_each(b, 0, RTE_TCP_SYN_FLAG);
	segment_of_each(b, 1, RTE_TCP_SYN_FLAG | RTE_TCP_ACK_FLAG);
	segment_of_each(b, 0, RTE_TCP_ACK_FLAG);
	segment_of_each(b, 1, RTE_TCP_ACK_FLAG);
	for (uint32_t i = 0; i < bursts; i++) {
		for (unsigned int j = 0; j < BURST; j++)
			write_packet(b, &b->packet[j], random_below(b, b->n), random_below(b, 2),
				RTE_TCP_ACK_FLAG | RTE_TCP_PSH_FLAG, 100);
		cycles += pass(b, BURST, &read);
	}
	row->figure[HIT][round] = (double)cycles / (bursts * (double)BURST);
	row->figure[READ][round] = (double)read / (bursts * (double)BURST);
	b->now += 432001u * 1000;
	age(b);
}

static void row_measure(struct row *row)
{
	struct bench b;

	bench_init(&b, row);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		measure_ends(&b, row, i);
		measure_hits(&b, row, i);
	}
	bench_fini(&b);
	for (unsigned int i = 0; i < FIGURES; i++)
		qsort(row->figure[i], ROUNDS, sizeof(double), compare_doubles);
}

static void row_print(const struct row *row, double hit_one, bool json, bool last)
{
	const char *format = json ? "  {\"flows\": %" PRIu32 ", \"cycles_hit\": %.1f, "
				    "\"of_it_read\": %.1f, \"of_it_misses\": %.1f, "
				    "\"new_per_s\": %.0f, \"cycles_expire\": %.1f, "
				    "\"cycles_age\": %.1f, \"memory_mb\": %.1f"
				  : "%9" PRIu32
				    " %10.1f %10.1f %12.1f %10.0f %13.1f %10.1f %9.1f\n";
	double hit = row->figure[HIT][ROUNDS / 2];

	printf(format, row->flows, hit, row->figure[READ][ROUNDS / 2], RTE_MAX(0, hit - hit_one),
		row->figure[NEW][ROUNDS / 2], row->figure[EXPIRE][ROUNDS / 2],
		row->figure[AGE][ROUNDS / 2], (double)row->memory / (1 << 20));
	if (json)
		printf(", \"core_clock\": %.3f}%s\n", core_measure().clock, last ? "" : ",");
}

static int usage(const char *name)
{
	fprintf(stderr, "usage: %s [--flows N]... [--json]\n", name);
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"flows", required_argument, NULL, 'f'}, {"json", no_argument, NULL, 'j'}, {0}};
	static const uint32_t sizes[] = {
		1, 1000, 100000, 1000000, 4128768}; // the last: as FD.io's CSIT
	static struct row rows[SIZES_MAX], one = {.flows = 1};
	unsigned int n = 0;
	bool json = false;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'j') {
			json = true;
		} else if (option == 'f' && n < SIZES_MAX) {
			unsigned long flows = strtoul(optarg, NULL, 10);

			if (flows == 0 || flows > FLOW_CAPACITY_MAX)
				return usage(argv[0]);
			rows[n++].flows = (uint32_t)flows;
		} else {
			return usage(argv[0]);
		}
	}
	if (optind != argc)
		return usage(argv[0]);
	if (n == 0)
		for (; n < RTE_DIM(sizes); n++)
			rows[n].flows = sizes[n];
	pin();
	measure_tsc();
	row_measure(&one);
	for (unsigned int i = 0; i < n; i++)
		row_measure(&rows[i]);
	if (json)
		printf("[\n");
	else
		printf("core clock %.2f: core cycles in a TSC cycle\n"
		       "%9s %10s %10s %12s %10s %13s %10s %9s\n",
			core_measure().clock, "flows", "cycles_hit", "of_it_read", "of_it_misses",
			"new_per_s", "cycles_expire", "cycles_age", "memory_mb");
	for (unsigned int i = 0; i < n; i++)
		row_print(&rows[i], one.figure[HIT][ROUNDS / 2], json, i + 1 == n);
	if (json)
		printf("]\n");
	return EXIT_SUCCESS;
}
