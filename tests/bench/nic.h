// SPDX-License-Identifier: BSD-3-Clause
// Replaces the ports: accesses memory as a driver and its card would, so that a worker finds
// buffers in the same state. Its own cost is measured and subtracted.
#pragma once

#include <rte_mbuf.h>
#include <rte_memcpy.h>

#include "batch.h"
#include "die.h"

// Starts DPDK without devices, in hugepages if 1 GB of them is free, with an lcore for each lane on
// its own CPU, starting with the last CPU that this process may use; and makes the pool of packet
// buffers.
struct rte_mempool *nic_start(unsigned int lanes);
void nic_stop(void);

// CPUs that this process may use.
unsigned int nic_cpus(void);

// Receives n packets of the batch: allocates buffers from the pool, copies the frames, and writes
// the fields that a vector driver sets in the mbufs, such as the flag for a good IP header
// checksum.
static inline void nic_receive(struct rte_mempool *pool, struct rte_mbuf *m[],
	const struct batch *b, unsigned int first, uint16_t n, uint16_t port)
{
	if (unlikely(rte_mempool_get_bulk(pool, (void **)m, n) < 0))
		die("no packet buffers");
	for (uint16_t i = 0; i < n; i++) {
		uint16_t len = b->len[first + i];

		m[i]->data_off = RTE_PKTMBUF_HEADROOM;
		m[i]->port = port;
		m[i]->ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD;
		m[i]->packet_type = 0;
		m[i]->pkt_len = len;
		m[i]->data_len = len;
		rte_memcpy(rte_pktmbuf_mtod(m[i], void *), batch_frame(b, first + i), len);
	}
}

// Sends packets: frees the buffers. Returns n.
static inline uint16_t nic_send(struct rte_mbuf *m[], uint16_t n)
{
	rte_pktmbuf_free_bulk(m, n);
	return n;
}

// The same for clear packets, which it checks. Returns how many are those of the batch, in their
// order.
static inline uint16_t nic_send_checked(
	struct rte_mbuf *m[], uint16_t n, const struct batch *b, unsigned int first)
{
	uint16_t right = 0;

	for (uint16_t i = 0; i < n; i++) {
		const uint64_t *mark = rte_pktmbuf_mtod_offset(m[i], const uint64_t *, MARK_OFF);

		right = (uint16_t)(right + (*mark == b->mark[first + i]));
	}
	nic_send(m, n);
	return right;
}
