// SPDX-License-Identifier: BSD-3-Clause
// The host of a gateway, see harness.h: the rings to and from it.
#include "buffers.h"
#include "harness.h"

static void count_wake(void *gateway)
{
	struct gateway *g = gateway;

	g->wakes++;
}

void gateway_host_add(struct gateway *g, uint16_t port)
{
	g->from_host = rte_ring_create("from-host", 64, SOCKET_ID_ANY, 0);
	g->to_host = rte_ring_create("to-host", 64, SOCKET_ID_ANY, 0);
	assert_non_null(g->from_host);
	assert_non_null(g->to_host);
	worker_host_set(g->w, g->from_host, count_wake, g);
	worker_host_add(g->w, port, g->to_host);
}

void gateway_host_sends(struct gateway *g, const struct frame *f)
{
	gateway_host_sends_since(g, f, g->snapshot->host_since[f->port]);
}

void gateway_host_sends_since(struct gateway *g, const struct frame *f, uint32_t since)
{
	struct rte_mbuf *m = frame_mbuf(f);

	m->hash.usr = since;
	g->w->counters.originated++; // as the thread of the hosts counts
	assert_int_equal(rte_ring_enqueue(g->from_host, m), 0);
}

void gateway_host_pass(struct gateway *g, struct frame f)
{
	gateway_host_sends(g, &f);
	gateway_pass(g, NULL, 0);
}

// The thread of the hosts counts packets that it has given to the kernel.
void gateway_take_punted(struct gateway *g)
{
	struct rte_mbuf *m;

	while (g->to_host != NULL && rte_ring_dequeue(g->to_host, (void **)&m) == 0) {
		struct frame *f = &g->punted[g->n_punted++];

		assert_in_range(g->n_punted, 1, RX_BURST_MAX);
		f->port = m->port;
		f->len = (uint16_t)m->pkt_len;
		assert_in_range(f->len, IP_LEN, sizeof(f->b));
		memcpy(f->b, rte_pktmbuf_read(m, 0, f->len, f->b), m->nb_segs == 1 ? f->len : 0);
		rte_pktmbuf_free(m);
		g->w->counters.local++;
	}
}
