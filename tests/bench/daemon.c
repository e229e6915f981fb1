// SPDX-License-Identifier: BSD-3-Clause
#include "daemon.h"

#include <stdlib.h>

#include <rte_ethdev.h>

#include "die.h"
#include "loop.h"
#include "measure.h"
#include "receive_nothing.h"

#define PORTS 2

struct daemon {
	const struct traffic *traffic;
	struct gateway *gateway;
	struct loop *loop;
	struct port ports[PORTS];
	// Of the batch.
	unsigned int received, sent; // packets
	uint32_t right;              // of the packets sent
	uint64_t from, to; // TSC when the first measured burst was asked for, and the next batch
	// Data of DPDK's functions, by queue. No other code has read their frames before.
	void *queue[2 * POINT_WORKERS_MAX], *callbacks[2 * POINT_WORKERS_MAX];
};

static uint16_t receive(void *queue, struct rte_mbuf **m, uint16_t n)
{
	struct daemon *d = queue;
	const struct traffic *t = d->traffic;

	if (unlikely(d->received == t->batch->n)) {
		if (d->to == 0)
			d->to = rte_rdtsc_precise();
		atomic_store_explicit(&d->loop->phase, LOOP_STOP, memory_order_relaxed);
		return 0;
	}
	if (unlikely(d->received == t->batch->warm))
		d->from = rte_rdtsc_precise();
	n = (uint16_t)RTE_MIN(RTE_MIN(n, t->point->burst), t->batch->n - d->received);
	// The port is that of a driver which counts as the configuration does.
	traffic_receive(t, m, d->received, n, t->point->dir == DIR_OUT ? PORT_LAN : PORT_WAN);
	d->received += n;
	return n;
}

static uint16_t send_sealed(void *queue, struct rte_mbuf **m, uint16_t n)
{
	struct daemon *d = queue;

	d->right += nic_send(m, n);
	return n;
}

static uint16_t send_clear(void *queue, struct rte_mbuf **m, uint16_t n)
{
	struct daemon *d = queue;

	d->right += nic_send_checked(m, n, d->traffic->batch, d->sent);
	d->sent += n;
	return n;
}

// DPDK's functions read a port's functions and queues here, whether or not it has a driver.
static void port_open_as(struct daemon *d, uint16_t port, bool receives)
{
	const struct worker *w = d->loop->worker;
	uint16_t id = (uint16_t)(PORTS * w->id + port);
	struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[id];

	ops->rx_pkt_burst = receives ? receive : receive_nothing;
	ops->tx_pkt_burst = d->traffic->point->dir == DIR_OUT ? send_sealed : send_clear;
	ops->rxq.data = ops->txq.data = d->queue;
	ops->rxq.clbk = ops->txq.clbk = d->callbacks;
	d->ports[port] = (struct port){.open = true,
		.id = id,
		.n_rx = 1,
		.n_tx = (uint16_t)(w->id + 1),
		.offloads.mbuf_flags = RTE_MBUF_F_RX_IP_CKSUM_MASK};
}

struct daemon *daemon_new(const struct traffic *t)
{
	struct daemon *d = calloc(1, sizeof(*d));
	uint16_t from = t->point->dir == DIR_OUT ? PORT_LAN : PORT_WAN;

	if (d == NULL)
		die("no memory");
	d->traffic = t;
	d->gateway = t->point->dir == DIR_OUT ? &t->pair->near : &t->pair->far;
	d->loop = loop_new(d->gateway->worker[t->lane]);
	if (d->loop == NULL)
		die("no memory for the daemon's loop");
	for (unsigned int i = 0; i < RTE_DIM(d->queue); i++)
		d->queue[i] = d;
	for (uint16_t port = 0; port < PORTS; port++)
		port_open_as(d, port, port == from);
	if (loops_assign(&d->loop, 1, d->ports, PORTS, t->point->sas, d->gateway->qsbr) < 0)
		die("no memory for the daemon's loop");
	return d;
}

void daemon_free(struct daemon *d)
{
	worker_sender_set(d->loop->worker, NULL, NULL);
	d->loop->worker = NULL; // the gateway's
	loop_free(d->loop);
	free(d);
}

uint64_t daemon_run(struct daemon *d, uint32_t *right)
{
	unsigned int id = d->loop->worker->id;

	d->received = d->sent = d->right = 0;
	d->to = 0;
	atomic_store_explicit(&d->loop->phase, LOOP_RUN, memory_order_relaxed);
	loop_run(d->loop);
	// It has ended as a worker, but lanes go on.
	rte_rcu_qsbr_thread_register(d->gateway->qsbr, id);
	rte_rcu_qsbr_thread_online(d->gateway->qsbr, id);
	*right = d->right;
	return d->to - d->from;
}
