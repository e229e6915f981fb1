// SPDX-License-Identifier: BSD-3-Clause
#include "bond_queue.h"

#include <rte_eth_bond.h>

#include "pkt_drop.h"

#define BURST 32

void bond_discard_inactive(const struct port *p, uint16_t number, uint16_t queue, struct worker *w)
{
	int active = rte_eth_bond_primary_get(p->id);
	struct rte_mbuf *m[BURST];

	for (unsigned int i = 0; i < p->n_member_ids; i++) {
		uint16_t n = p->member_id[i] != active
				     ? rte_eth_rx_burst(p->member_id[i], queue, m, BURST)
				     : 0;

		w->counters.rx += n;
		for (uint16_t f = 0; f < n; f++) {
			m[f]->port = number;
			pkt_drop(w, &(struct pkt){.m = m[f]}, DROP_MEMBER_INACTIVE);
		}
	}
}

void bonds_send_lacp(const struct port ports[], const uint16_t number[], unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (port_is_open(&ports[number[i]]))
			rte_eth_tx_burst(ports[number[i]].id, 0, NULL, 0);
}
