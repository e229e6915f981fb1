// SPDX-License-Identifier: BSD-3-Clause
#include "paced_port.h"

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf_dyn.h>
#include <rte_memcpy.h>

#include "die.h"
#include "paced.h"
#include "receive_nothing.h"

#define QUEUES 17 // of sending: there may be one that no worker has

struct queue {
	struct rte_mempool *pool;
	struct paced *paced;
	uint32_t packet_type; // of all frames
};

static struct queue queues[QUEUES];
static void *rx_data[QUEUES], *tx_data[QUEUES], *callbacks[QUEUES];
static int stamp_offset;

static uint64_t *stamp(struct rte_mbuf *m)
{
	return RTE_MBUF_DYNFIELD(m, stamp_offset, uint64_t *);
}

static void frame_receive(
	const struct queue *q, struct rte_mbuf *m, const uint8_t *frame, uint64_t at)
{
	const uint16_t len = paced_len();

	m->data_off = RTE_PKTMBUF_HEADROOM;
	m->port = (uint16_t)paced_port();
	m->ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD;
	m->packet_type = q->packet_type;
	m->pkt_len = m->data_len = len;
	rte_memcpy(rte_pktmbuf_mtod(m, void *), frame, len);
	*stamp(m) = at;
}

static uint16_t receive(void *queue, struct rte_mbuf **m, uint16_t n)
{
	const uint8_t *frame[PACED_BURST];
	struct queue *q = queue;
	uint64_t at[PACED_BURST];

	n = paced_receive(q->paced, at, frame, (uint16_t)RTE_MIN(n, PACED_BURST));
	if (unlikely(rte_mempool_get_bulk(q->pool, (void **)m, n) < 0))
		die("no packet buffers");
	for (uint16_t i = 0; i < n; i++)
		frame_receive(q, m[i], frame[i], at[i]);
	return n;
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
		paced_sent(q->paced, at, now);
		if (unlikely(paced_captures(q->paced)))
			paced_capture(rte_pktmbuf_mtod(m[i], const uint8_t *), m[i]->data_len);
	}
	rte_pktmbuf_free_bulk(m, n);
	return n;
}

void paced_port_take(
	unsigned int i, uint16_t tx_queue, struct rte_mempool *pool, const uint16_t ports[2])
{
	uint64_t flag;

	if (rte_mbuf_dyn_rx_timestamp_register(&stamp_offset, &flag) < 0)
		die("no room for times in packet buffers");
	paced_clock_tell(rte_get_tsc_hz());
	queues[i] = (struct queue){.pool = pool,
		.paced = paced_queue(i),
		.packet_type = RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 |
			       (paced_port() == 1 ? RTE_PTYPE_TUNNEL_ESP : RTE_PTYPE_L4_UDP)};
	rx_data[i] = tx_data[tx_queue] = &queues[i];
	for (unsigned int port = 0; port < 2; port++) {
		struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[ports[port]];

		ops->rx_pkt_burst = port == paced_port() ? receive : receive_nothing;
		ops->tx_pkt_burst = transmit;
		ops->rxq.data = rx_data;
		ops->txq.data = tx_data;
		ops->rxq.clbk = ops->txq.clbk = callbacks;
	}
}
