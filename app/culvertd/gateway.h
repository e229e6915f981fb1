// SPDX-License-Identifier: BSD-3-Clause
// The running daemon: everything that main() made, for the parts of app/culvertd. Set up before
// workers run; after that written by the control thread, unless said otherwise.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include <rte_rcu_qsbr.h>

#include "build.h"
#include "conf.h"
#include "configure.h"
#include "dad.h"
#include "health.h"
#include "listener.h"
#include "loop.h"
#include "neigh.h"
#include "path_mtu.h"
#include "port.h"
#include "request.h"
#include "reserve.h"
#include "tracing.h"
#include "tunnel.h"
#include "worker.h"

struct gateway {
	struct conf *conf;
	const char *conf_path;
	struct rte_mempool *pool;
	struct rte_mempool *large_pool; // for reassembled packets
	// Thread i is worker i, and the last one is whoever lists flows.
	struct rte_rcu_qsbr *qsbr;
	struct neigh_table *neigh;
	struct dad *dad;            // own IPv6 addresses
	struct listener *listener;  // multicast groups that are listened to; control thread
	struct path_mtus path_mtus; // control thread
	struct tunnels tunnels;     // those of the snapshot
	struct flow_table *flows;
	struct snapshot *_Atomic snapshot; // what workers see
	// What they saw before, and what they have to pass until it can be freed; NULL: nothing.
	struct snapshot *retired;
	uint64_t retired_token;
	struct load load; // control thread
	struct tracing tracing;
	struct requests requests;     // control thread
	struct port ports[PORTS_MAX]; // by index of conf->ports
	struct loop *loops[CONF_WORKERS_MAX];
	struct worker *workers[CONF_WORKERS_MAX]; // those of the loops
	struct counters counters;                 // of the control thread's own packets
	uint64_t started_ms;
	struct health health;
	struct reserve *reserve;        // NULL: nothing outlives the daemon
	uint64_t link_next;             // when links are looked at, in milliseconds; control thread
	unsigned int expiry_next;       // SA whose lifetime is looked at next; control thread
	bool moves_pending;             // of SAs, see struct sa_out; control thread
	bool udp_ends_moved;            // peers have, since they were indexed; control thread
	unsigned int peer_next;         // SA that a keepalive may be due of next; control thread
	struct retired *retired_memory; // what waits to be freed; control thread
	// Held by the control thread while it changes what show commands walk through, and by
	// those (on telemetry's threads) while they do. Workers never take it.
	pthread_mutex_t lock;
};

// Milliseconds of the TSC, the clock of the control thread.
uint64_t gateway_now_ms(void);

// The sum over workers and control thread. While workers run the parts are of slightly different
// moments. Any thread.
struct counters gateway_counters(const struct gateway *g);

// Packets that wait inside the gateway. Any thread.
uint64_t gateway_held(const struct gateway *g);

// Packets dropped for any reason.
uint64_t counters_drops(const struct counters *c);
