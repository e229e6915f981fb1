// SPDX-License-Identifier: BSD-3-Clause
// The instructions of a whole pass, for each packet: counted one by one, so that other load, clock
// and caches of the machine change nothing.
//
//   bench_instructions [--alg CIPHER[+AUTH]] [--engine NAME] [--dir out|in] [--size OCTETS|imix]
//                      [--sas N] [--flows N] [--burst N] [--json]
//
// Values may be lists: then every combination is counted. The gateways and their traffic are those
// of bench_pass. Of each stage as well.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon.h"
#include "lists.h"
#include "step.h"
#include "target.h"
#include "traffic.h"

#define PACKETS 64 // that are counted, of each point

struct counts {
	const char *engine;
	double pass;               // instructions for each packet
	double own;                // of the gateway's code, without that of libraries
	double daemon;             // of the pass by the daemon's loop
	double stage[STAGE_COUNT]; // of these; 0: the pass has no such stage
};

static void counter_check(void)
{
	uint64_t from, to;

	step_begin();
	from = rte_rdtsc();
	asm volatile(".rept 1000\n\tnop\n\t.endr");
	to = rte_rdtsc();
	step_end();
	if (to - from < 1000 || to - from > 1010)
		die("1000 instructions were counted as %lu", to - from);
}

static struct gateway *counted(const struct traffic *t)
{
	return t->point->dir == DIR_OUT ? &t->pair->near : &t->pair->far;
}

// Adds those of a pass at time now.
static void pass_count(struct counts *c, const struct traffic *t, unsigned int first, uint64_t now)
{
	struct gateway *g = counted(t);
	struct rte_mbuf *m[POINT_BURST_MAX];
	uint16_t n = (uint16_t)t->point->burst;
	struct tx_buffer *tx = &g->worker[t->lane]->tx[g->port_out];
	uint64_t from, to;

	traffic_receive(t, m, first, n, t->point->dir == DIR_OUT ? PORT_LAN : PORT_WAN);
	step_begin();
	from = rte_rdtsc();
	pipeline_pass(g->worker[t->lane], m, n, now);
	to = rte_rdtsc();
	step_end();
	if (tx->n != n)
		die("of %u packets, %u were sent", n, tx->n);
	nic_send(tx->m, tx->n);
	tx->n = 0;
	c->pass += (double)(to - from);
	c->own += (double)step_own();
}

// The mean of passes over the last packets of a batch. The packets before them are not counted:
// they bring tables and caches of buffers into the state that they have under load.
static struct counts passes_count(const struct traffic *t, uint32_t stages_every)
{
	unsigned int burst = t->point->burst, n = RTE_MAX(PACKETS / burst, 1u);
	struct gateway *g = counted(t);
	struct counts c = {0};
	uint64_t now;

	traffic_fill(t);
	for (unsigned int i = 0; i < n; i++) {
		struct rte_mbuf *m[POINT_BURST_MAX];
		struct tx_buffer *tx;

		traffic_receive(t, m, i * burst, (uint16_t)burst,
			t->point->dir == DIR_OUT ? PORT_LAN : PORT_WAN);
		tx = gateway_pass(g, t->lane, m, (uint16_t)burst);
		nic_send(tx->m, tx->n);
		tx->n = 0;
	}
	g->worker[t->lane]->stages = (struct stages){.every = stages_every};
	now = g->worker[t->lane]->now; // no work of the next millisecond
	for (unsigned int i = n; i < 2 * n; i++)
		pass_count(&c, t, i * burst, now);
	c.pass /= n * burst;
	c.own /= n * burst;
	return c;
}

static uint16_t port_of(const struct traffic *t)
{
	return t->point->dir == DIR_OUT ? PORT_LAN : PORT_WAN;
}

// Instructions of the ports alone.
static double ports_count(const struct traffic *t)
{
	unsigned int burst = t->point->burst;
	struct rte_mbuf *m[POINT_BURST_MAX];
	uint64_t from;

	traffic_fill(t);
	step_begin();
	from = rte_rdtsc_precise();
	for (unsigned int first = t->batch->warm; first < t->batch->n; first += burst) {
		traffic_receive(t, m, first, (uint16_t)burst, port_of(t));
		if (t->point->dir == DIR_OUT)
			nic_send(m, (uint16_t)burst);
		else
			nic_send_checked(m, (uint16_t)burst, t->batch, first);
	}
	from = rte_rdtsc_precise() - from;
	step_end();
	return (double)from / (t->batch->n - t->batch->warm);
}

// Instructions of the daemon's loop with all functions that it calls.
static double daemon_count(const struct traffic *t)
{
	struct daemon *d = daemon_new(t);
	struct worker *w = counted(t)->worker[t->lane];
	uint64_t instructions;
	uint32_t right;

	w->stages.every = UINT32_MAX;
	traffic_fill(t);
	daemon_run(d, &right);
	traffic_fill(t);
	w->next_tick = UINT64_MAX;
	step_begin();
	instructions = daemon_run(d, &right);
	step_end();
	daemon_free(d);
	return (double)instructions / (t->batch->n - t->batch->warm);
}

static struct counts count(const struct point *p, struct rte_mempool *pool)
{
	struct traffic t = {.point = p,
		.pool = pool,
		.pair = gateway_pair_new(p, pool, 0),
		.batch = batch_new(p, 0)};
	struct counts c;
	unsigned int packets = RTE_MAX(PACKETS / p->burst, 1u) * p->burst;
	const struct stages *stages = &counted(&t)->worker[0]->stages;

	// Half of them is counted, not more: an instruction takes about ten microseconds.
	t.batch->n = 2 * packets;
	t.batch->warm = packets;
	traffic_prepare(&t);
	c = passes_count(&t, UINT32_MAX);
	c.daemon = daemon_count(&t) - ports_count(&t);
	c.engine = gateway_pair_engine(t.pair);
	passes_count(&t, 1);
	for (unsigned int i = 0; i < STAGE_COUNT; i++)
		if (stages->stage[i].packets > 0)
			c.stage[i] =
				(double)stages->stage[i].cycles / (double)stages->stage[i].packets;
	batch_free(t.batch);
	gateway_pair_free(t.pair);
	return c;
}

static void json_print(const struct point *p, const struct counts *c)
{
	unsigned int most = target_of(p, c->engine).instructions;
	const char *separator = "";
	char alg[POINT_ALG_MAX], size[POINT_SIZE_TEXT];

	printf("{\"alg\":\"%s\",\"engine\":\"%s\",\"dir\":\"%s\",", point_alg(alg, p), c->engine,
		dir_names[p->dir]);
	printf(p->size == POINT_IMIX ? "\"size\":\"%s\"" : "\"size\":%s", point_size(size, p));
	printf(",\"sas\":%u,\"flows\":%u,\"instructions\":%.1f,\"own\":%.1f,\"daemon\":%.1f,"
	       "\"stages\":{",
		p->sas, p->flows, c->pass, c->own, c->daemon - c->pass);
	for (unsigned int i = 0; i < STAGE_COUNT; i++)
		if (c->stage[i] > 0) {
			printf("%s\"%s\":%.1f", separator, stage_info[i].name, c->stage[i]);
			separator = ",";
		}
	printf("}");
	if (most > 0)
		printf(",\"target\":%u", most);
	printf("}\n");
}

static void text_print(const struct point *p, const struct counts *c)
{
	unsigned int most = target_of(p, c->engine).instructions;
	char alg[POINT_ALG_MAX], size[POINT_SIZE_TEXT];

	printf("%-28s %-8s %-4s %5s %5u %7u %12.1f %7.1f %6.1f ", point_alg(alg, p), c->engine,
		dir_names[p->dir], point_size(size, p), p->sas, p->flows, c->pass, c->own,
		c->daemon - c->pass);
	for (unsigned int i = 0; i < STAGE_COUNT; i++)
		if (c->stage[i] > 0)
			printf(" %s %.1f", stage_info[i].name, c->stage[i]);
	if (most > 0)
		printf(" target %u%s", most, c->pass <= most ? "" : "!");
	printf("\n");
}

int main(int argc, char **argv)
{
	struct lists lists = {
		{"aes-128-gcm,aes-128-cbc,null", "auto", "1", "1000", "1", "32", "out,in", "64"}};
	bool json = lists_read(&lists, argc, argv);
	struct points points = {0};
	struct rte_mempool *pool;

	counter_check();
	pool = nic_start(1);
	points_add(&points, &lists);
	if (!json)
		printf("instructions for each packet\n%-28s %-8s %-4s %5s %5s %7s %12s %7s %6s  "
		       "stages\n",
			"alg", "engine", "dir", "size", "SAs", "flows", "instructions", "own",
			"daemon");
	for (size_t i = 0; i < points.n; i++) {
		const struct point *p = &points.p[i];
		struct counts c = count(p, pool);

		json ? json_print(p, &c) : text_print(p, &c);
		fflush(stdout);
	}
	free(points.p);
	nic_stop();
	return EXIT_SUCCESS;
}
