// SPDX-License-Identifier: BSD-3-Clause
// One gateway with one worker and the daemon's defaults. It has a clock that runs only while
// packets are processed, and the part of the control thread that packets cause to run: events and
// neighbours.
//
//   10.1.0.0/16, 2001:db8:1::/64 --[LAN] gateway [WAN]-- 198.18.0.0/16, 2001:db8:f::/64
//
// Networks of the tunnels: of peer B (198.18.0.2) 10.2.0.0/16, of peer M (198.18.0.3) 10.3.0.0/16
// and 2001:db8:3::/64, by ESP in UDP of peer N (198.18.0.4) 10.4.0.0/16.
#pragma once

#include "pipeline.h"

enum { LAN, WAN };
enum peer { PEER_B, PEER_M, PEER_N, PEERS };

#define PEER_SPI_IN  0x1000 // of peer B; those of the others follow
#define PEER_SPI_OUT 0x2000

struct single_gateway {
	struct conf *conf;
	struct snapshot *snapshot;
	struct snapshot *_Atomic published;
	struct flow_table *flows;
	struct neigh_table *neigh;
	struct dad *dad;
	struct rte_rcu_qsbr *qsbr;
	struct rte_mempool *pool, *large_pool;
	struct worker *worker;
	uint64_t now;        // TSC cycles spent on packets
	uint64_t control_ms; // last run of the control thread, by the same clock
};

// Makes a gateway with room for flows_max flows, 0: the default. id is that of the worker, which
// distinguishes the gateways of one process. Ends the program on failure.
struct single_gateway *single_gateway_new(unsigned int id, unsigned int flows_max);
void single_gateway_free(struct single_gateway *g);

// Keying material of the SA from a peer.
void single_gateway_key(uint8_t key[CRYPTO_CIPHER_KEY_MAX], enum peer peer);

// The control thread's processing of events, once in a millisecond of the gateway's clock.
void single_gateway_control(struct single_gateway *g);

// Runs a pass over frames at a time of the gateway's clock, and reports a quiescent state, as the
// daemon does. The packets that it sends are in the worker's buffers, which the caller empties.
static inline void single_gateway_pass(
	struct single_gateway *g, struct rte_mbuf *const m[], uint16_t n, uint64_t now)
{
	pipeline_pass(g->worker, m, n, now);
	rte_rcu_qsbr_quiescent(g->qsbr, g->worker->id);
}
