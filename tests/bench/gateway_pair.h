// SPDX-License-Identifier: BSD-3-Clause
// Two gateways in one process, made from a configuration file: each has hosts on one side and the
// tunnels to the other on the other side. far opens the packets that near seals. Each has a worker
// in every lane.
#pragma once

#include <rte_cycles.h>
#include <rte_rcu_qsbr.h>

#include "pipeline.h"
#include "point.h"

enum { PORT_LAN, PORT_WAN };

#define GATEWAY_MAC                                                                                \
	{                                                                                          \
		{                                                                                  \
			2, 0, 0, 0, 0, 1                                                           \
		}                                                                                  \
	} // of all ports
#define HOST_MAC                                                                                   \
	{                                                                                          \
		{                                                                                  \
			2, 0, 0, 0, 0, 2                                                           \
		}                                                                                  \
	}
#define HOST_NEAR RTE_IPV4(10, 1, 1, 1) // and the addresses above

// 2001:db8:NET::HOST. Hosts behind the near gateway are in net 1, the one of the first SA behind
// the far gateway is host 1 of net 2.
static inline struct ip_addr addr_v6(uint16_t net, uint32_t host)
{
	return (struct ip_addr){.w = {RTE_BE32(0x20010db8), rte_cpu_to_be_32((uint32_t)net << 16),
					0, rte_cpu_to_be_32(host)}};
}

struct gateway {
	struct snapshot *_Atomic published;
	struct flow_table *flows;
	struct rte_rcu_qsbr *qsbr;
	struct worker *worker[POINT_WORKERS_MAX]; // by lane
	uint16_t port_out;                        // egress port of near and of far
};

struct gateway_pair {
	struct gateway near, far;
	struct neigh_table *neigh; // of both
	struct dad *dad;           // the same, empty
	struct rte_rcu_qsbr *qsbr;
	unsigned int lanes, first; // first: the number of the first worker
};

// Makes the gateways for a point; ends the program if that is not possible. first: the number of
// the first worker, which distinguishes the pairs of one process: a pair has two for each lane.
struct gateway_pair *gateway_pair_new(
	const struct point *p, struct rte_mempool *pool, unsigned int first);
void gateway_pair_free(struct gateway_pair *pair);

// The engine of the SAs.
const char *gateway_pair_engine(const struct gateway_pair *pair);

// Prints to standard error the reasons for which packets were dropped.
void gateway_pair_print_drops(const struct gateway_pair *pair);

// Address of the one host behind the far gateway that an SA protects.
uint32_t host_far(unsigned int sa);

// Keying material of the SA from near to far.
void gateway_pair_key(uint8_t key[CRYPTO_CIPHER_KEY_MAX], unsigned int sa);

// Runs a pass of a lane's worker over frames, and reports a quiescent state, as the daemon does.
// The packets that it sends are in the returned buffer, which the caller empties.
static inline struct tx_buffer *gateway_pass(
	struct gateway *g, unsigned int lane, struct rte_mbuf *const m[], uint16_t n)
{
	struct worker *w = g->worker[lane];

	pipeline_pass(w, m, n, rte_rdtsc());
	rte_rcu_qsbr_quiescent(g->qsbr, w->id);
	return &w->tx[g->port_out];
}
