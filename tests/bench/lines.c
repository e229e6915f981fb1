// SPDX-License-Identifier: BSD-3-Clause
// Passes for a simulator of caches (tests/full/lines), which counts in counted_pass() alone:
//
//   bench_lines [--alg CIPHER[+AUTH]] [--engine NAME] [--dir out|in] [--size OCTETS|imix] [--sas N]
//               [--flows N] [--burst N]
//
// Prints how many packets were counted, as JSON. The gateways and their traffic are those of
// bench_pass; the options are those of one point.
#include <stdio.h>
#include <stdlib.h>

#include "lists.h"
#include "traffic.h"

#define BATCHES 4 // that are counted, after another one

// As a worker has them: buffers and frames have just been written by the card.
__attribute__((noinline)) static void counted_pass(
	struct worker *w, struct rte_mbuf *m[], uint16_t n, uint64_t now)
{
	pipeline_pass(w, m, n, now);
}

static void pass(struct gateway *g, const struct traffic *t, unsigned int first, bool counted)
{
	struct rte_mbuf *m[POINT_BURST_MAX];
	struct worker *w = g->worker[t->lane];
	struct tx_buffer *tx = &w->tx[g->port_out];
	uint16_t n = (uint16_t)t->point->burst;

	traffic_receive(t, m, first, n, t->point->dir == DIR_OUT ? PORT_LAN : PORT_WAN);
	if (counted)
		counted_pass(w, m, n, w->now);
	else
		pipeline_pass(w, m, n, w->now);
	if (tx->n != n)
		die("of %u packets, %u were sent", n, tx->n);
	nic_send(tx->m, tx->n);
	tx->n = 0;
}

int main(int argc, char **argv)
{
	struct lists lists = {{"aes-128-gcm", "auto", "1", "1000", "1", "32", "out", "64"}};
	struct points points = {0};
	struct traffic t = {0};
	struct gateway *g;

	lists_read(&lists, argc, argv);
	t.pool = nic_start(1);
	points_add(&points, &lists);
	if (points.n != 1)
		die("more than one point");
	t.point = &points.p[0];
	t.pair = gateway_pair_new(t.point, t.pool, 0);
	t.batch = batch_new(t.point, 0);
	g = t.point->dir == DIR_OUT ? &t.pair->near : &t.pair->far;
	traffic_prepare(&t);
	g->worker[t.lane]->stages.every = UINT32_MAX;
	for (unsigned int i = 0; i <= BATCHES; i++) {
		traffic_fill(&t);
		for (unsigned int k = 0; k < t.batch->n; k += t.point->burst)
			pass(g, &t, k, i > 0);
	}
	printf("{\"packets\":%u}\n", BATCHES * t.batch->n);
	batch_free(t.batch);
	gateway_pair_free(t.pair);
	free(points.p);
	nic_stop();
	return EXIT_SUCCESS;
}
