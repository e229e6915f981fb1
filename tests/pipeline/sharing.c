// SPDX-License-Identifier: BSD-3-Clause
// Workers that share the work of tunnels.
#include "fanout.h"
#include "harness.h"
#include "pipeline.h"

void gateways_share(struct gateway *const g[], struct worker *w[], unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		w[i] = g[i]->w;
	for (unsigned int i = 0; i < n; i++)
		worker_peers_set(w[i], w, n);
	assert_int_equal(fanout_start(w, n), 0);
}

void gateway_receive(struct gateway *g, const struct frame in[], unsigned int n)
{
	struct rte_mbuf *m[RX_BURST_MAX];

	frame_mbufs(m, in, n);
	n = fanout_distribute(g->w, m, (uint16_t)n, true);
	gateway_pass_mbufs(g, m, n);
}

bool gateway_help(struct gateway *g)
{
	bool helped;

	g->n_sent = 0;
	helped = pipeline_help(g->w, g->now);
	gateway_take(g);
	return helped;
}

bool gateway_keep(struct gateway *g)
{
	unsigned int n;

	g->n_sent = 0;
	n = pipeline_keep(g->w, g->now);
	gateway_take(g);
	return n > 0;
}
