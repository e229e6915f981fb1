// SPDX-License-Identifier: BSD-3-Clause
// One gateway with one worker, configured as the daemon configures itself by default, with a clock
// that goes on only while packets are processed, and the part of the control thread that packets
// can cause: what it takes of events, and neighbours.
//
//   10.1.0.0/16, 2001:db8:1::/64 --[LAN] gateway [WAN]-- 198.18.0.0/16, 2001:db8:f::/64
//
// Behind the tunnels: to peer B (198.18.0.2) 10.2.0.0/16, to peer M (198.18.0.3) 10.3.0.0/16 and
// 2001:db8:3::/64, by ESP in UDP to peer N (198.18.0.4) 10.4.0.0/16.
#pragma once

#include "pipeline.h"

enum { LAN, WAN };
enum peer { PEER_B, PEER_M, PEER_N, PEERS };

#define PEER_SPI_IN  0x1000 // of peer B, of the others 1, 2 more
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
	uint64_t now;        // TSC cycles that packets have taken
	uint64_t control_ms; // when the control thread has last run, by the same clock
};

// Makes it with room for flows_max flows, 0: as many as by default. id is that of the worker,
// which tells gateways of one process apart. Ends the program if that is not possible.
struct single_gateway *single_gateway_new(unsigned int id, unsigned int flows_max);
void single_gateway_free(struct single_gateway *g);

// Keying material of the SA from a peer.
void single_gateway_key(uint8_t key[CRYPTO_CIPHER_KEY_MAX], enum peer peer);

// What the control thread does with events, once in a millisecond of the gateway's clock.
void single_gateway_control(struct single_gateway *g);

// Runs a pass over frames at a time of the gateway's clock, and says that it is over, as the daemon
// does. What it sends is in the worker's buffers, to be emptied by the caller.
static inline void single_gateway_pass(
	struct single_gateway *g, struct rte_mbuf *const m[], uint16_t n, uint64_t now)
{
	pipeline_pass(g->worker, m, n, now);
	rte_rcu_qsbr_quiescent(g->qsbr, g->worker->id);
}
