// SPDX-License-Identifier: BSD-3-Clause
#include "traffic.h"

#include <string.h>

// The gateways change the headers: link addresses, time to live, header checksum.
#define UNCHANGED_OFF (RTE_ETHER_HDR_LEN + offsetof(struct rte_ipv4_hdr, src_addr))

// Processes n packets from first on. Returns how many results are right.
typedef uint16_t (*burst_fn)(const struct traffic *t, unsigned int first, uint16_t n);

struct tx_buffer *traffic_pass_both(const struct traffic *t, unsigned int first, uint16_t n)
{
	struct rte_mbuf *m[POINT_BURST_MAX];

	traffic_receive(t, m, first, n, PORT_LAN);

	struct tx_buffer *between = gateway_pass(&t->pair->near, t->lane, m, n);

	for (uint16_t i = 0; i < between->n; i++)
		between->m[i]->port = PORT_WAN;
	n = between->n;
	between->n = 0;
	return gateway_pass(&t->pair->far, t->lane, between->m, n);
}

// In a burst, packets of new flows are sent last.
static uint16_t deliver(const struct traffic *t, unsigned int first, uint16_t n)
{
	struct tx_buffer *tx = traffic_pass_both(t, first, n);
	uint16_t delivered = tx->n;

	nic_send(tx->m, tx->n);
	tx->n = 0;
	return delivered;
}

// Compares every octet of every packet that has passed both gateways.
static uint16_t compare(const struct traffic *t, unsigned int first, uint16_t n)
{
	struct tx_buffer *tx = traffic_pass_both(t, first, n);
	uint16_t right = 0;

	for (uint16_t i = 0; i < tx->n; i++) {
		const uint8_t *was = batch_frame(t->batch, first + i);
		const uint8_t *is = rte_pktmbuf_mtod(tx->m[i], const uint8_t *);
		uint16_t len = t->batch->len[first + i];

		right = (uint16_t)(right + (rte_pktmbuf_data_len(tx->m[i]) == len &&
						   memcmp(was + UNCHANGED_OFF, is + UNCHANGED_OFF,
							   len - UNCHANGED_OFF) == 0));
	}
	nic_send(tx->m, tx->n);
	tx->n = 0;
	return right;
}

// The near gateway's packets replace those of the batch.
static uint16_t seal(const struct traffic *t, unsigned int first, uint16_t n)
{
	struct rte_mbuf *m[POINT_BURST_MAX];

	traffic_receive(t, m, first, n, PORT_LAN);

	struct tx_buffer *tx = gateway_pass(&t->pair->near, t->lane, m, n);
	uint16_t sealed = tx->n;

	for (uint16_t i = 0; i < RTE_MIN(sealed, n); i++)
		batch_replace(t->batch, first + i, rte_pktmbuf_mtod(tx->m[i], const uint8_t *),
			rte_pktmbuf_data_len(tx->m[i]));
	nic_send(tx->m, tx->n);
	tx->n = 0;
	return sealed;
}

static void run_without_loss(const struct traffic *t, burst_fn fn)
{
	uint32_t right = 0, n = t->batch->n, burst = t->point->burst;

	for (unsigned int first = 0; first < n; first += burst)
		right += fn(t, first, (uint16_t)RTE_MIN(burst, n - first));
	if (right == n)
		return;
	gateway_pair_print_drops(t->pair);
	die("of %u packets, %u are right", n, right);
}

void traffic_prepare(const struct traffic *t)
{
	do {
		batch_fill(t->batch);
		run_without_loss(t, deliver);
	} while (t->batch->seen < batch_flows(t->batch));
	batch_fill(t->batch);
	run_without_loss(t, compare);
}

void traffic_fill(const struct traffic *t)
{
	batch_fill(t->batch);
	if (t->point->dir == DIR_IN)
		run_without_loss(t, seal);
}
