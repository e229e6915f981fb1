// SPDX-License-Identifier: BSD-3-Clause
// What a running gateway has counted, added up over its workers: the one source of culvertctl's
// lists and of the metrics. Items of a list have numbers from 0 on; each function fills in the
// view of one and returns false behind the last. Any thread that holds the gateway's lock. Workers
// go on meanwhile: numbers of one view are of slightly different moments.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "gateway.h"

#define NEIGH_STATES (NEIGH_STATIC + 1)

struct port_view {
	char name[CONF_NAME_MAX], driver[RTE_ETH_NAME_MAX_LEN];
	struct rte_ether_addr mac;
	bool unprotected;
	uint64_t up, link_changes, link_mbps; // link_mbps 0: not known
	uint64_t rx_queues, mtu;
	uint64_t rx_packets, rx_bytes, rx_missed, rx_no_buffer, rx_errors;
	uint64_t tx_packets, tx_bytes, tx_errors;
};

struct worker_view {
	uint64_t worker, cpu, queues;
	const char *idle; // what it does without packets
	uint64_t stalled, stalls;
	uint64_t longest_round_us; // from one pass to the next, sleep left out
	struct counters counters;
	uint64_t drops, held;
	uint64_t busy_ms, idle_ms; // since the start; idle: looking for packets that are not there
};

struct queue_view {
	char port[CONF_NAME_MAX];
	uint64_t worker, queue;
	uint64_t bursts[LOOP_SIZES];
};

// From the passes that were measured.
struct stage_view {
	const struct stage_info *stage;
	struct stage_counters counters;
};

struct sa_view {
	char name[SA_NAME_MAX];
	bool out;
	bool transport;
	rte_be32_t spi;
	struct ip_addr local, remote;     // remote: as far as it is known, else none
	uint64_t local_port, remote_port; // of ESP in UDP, else 0
	const struct cipher_alg *cipher;
	const struct auth_alg *auth;
	const char *engine;
	bool esn;
	uint64_t packets, bytes, errors;
	uint64_t dummies; // of the packets
	uint64_t drops[DROP_COUNT];
	uint64_t sequence;      // outbound the last that was taken, inbound the highest that came
	uint64_t window;        // inbound, else 0
	uint64_t mtu, path_mtu; // outbound, else 0: octets that fit, inside and in all
	uint64_t used[LIFETIME_UNITS], left[LIFETIME_UNITS]; // left: UINT64_MAX without a limit
	// Since the last packet that was sealed, or opened and found good; UINT64_MAX: there was
	// none.
	uint64_t seen_ms;
};

struct tunnel_view {
	char name[SPD_NAME_MAX], out[SA_NAME_MAX];
	uint32_t policy; // its number
	enum tunnel_state state;
	uint64_t is[TUNNEL_STATES]; // 1 for that state, else 0
	struct ip_addr peer;        // as far as it is known, else none
	uint64_t received_ms;       // since the last packet; UINT64_MAX: there was none
	struct ip_addr probe;       // none: it is not probed
	uint64_t probes;
	uint64_t silent_ms; // since it is silent; UINT64_MAX: it is not
};

// What a policy or a rule has decided: struct decided.
struct asked_view {
	char name[CONF_NAME_MAX];
	const char *action;
	uint64_t asked, packets, bytes;
};

#define MEMORY_HEAP 4 // number of the heap in the list of memory, the last

struct memory_view {
	const char *name, *what, *setting; // of what there are so many, and what says how many
	uint64_t used, size;
};

struct total_view {
	struct counters counters;
	uint64_t drops, held, uptime_s, generation;
	uint64_t buffers, buffers_in_use, buffers_free_min;
	uint64_t flows, flows_max;
	struct flow_counters flow;
	uint64_t neighbours[NEIGH_STATES], neighbours_max;
};

bool collect_port(struct port_view *v, const struct gateway *g, unsigned int i);
bool collect_worker(struct worker_view *v, const struct gateway *g, unsigned int i);
// The queues of all workers, one behind the other.
bool collect_queue(struct queue_view *v, const struct gateway *g, unsigned int i);
bool collect_stage(struct stage_view *v, const struct gateway *g, unsigned int i);
// Where the peer of an SA is as far as that is known: an inbound one's is where packets come from.
struct sa_peer collect_peer(const struct sa *sa, bool out);

// The outbound ones first.
bool collect_sa(struct sa_view *v, const struct gateway *g, unsigned int i);
bool collect_tunnel(struct tunnel_view *v, const struct gateway *g, unsigned int i);
bool collect_policy(struct asked_view *v, const struct gateway *g, unsigned int i);
// The default is the last.
bool collect_rule(struct asked_view *v, const struct gateway *g, unsigned int i);
bool collect_memory(struct memory_view *v, const struct gateway *g, unsigned int i);
// The only one.
bool collect_total(struct total_view *v, const struct gateway *g, unsigned int i);
