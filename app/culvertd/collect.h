// SPDX-License-Identifier: BSD-3-Clause
// What a running gateway has and has counted, added up over its workers: the one source of
// culvertctl's lists and of the metrics, which lib/stats/field.def describes. Items of a list have
// numbers from 0 on; each function fills in the view of one and returns false behind the last. Any
// thread that holds the gateway's lock; without it, what a view points to may be gone, so names
// that are labels of metrics are copied. Workers run meanwhile: numbers of one view are of slightly
// different moments.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "gateway.h"

#define NEIGH_STATES (NEIGH_STATIC + 1)
#define VIEW_SAS_MAX (SPD_IN_MAX * SA_NAME_MAX) // octets of the names of the SAs of a policy

struct info_view {
	const char *instance, *version, *config;
	uint64_t pid, uptime_s, generation, workers;
};

struct total_view {
	struct counters counters;
	uint64_t drops, held;
	uint64_t buffers, buffers_in_use, buffers_free_min;
	uint64_t flows, flows_max;
	struct flow_counters flow;
	uint64_t neighbours[NEIGH_STATES];
	uint64_t heap_used, heap_size; // octets of DPDK's memory
};

struct worker_view {
	uint64_t worker, cpu, queues;
	const char *idle; // what it does without packets
	const char *state;
	uint64_t stalled, stalls;
	uint64_t longest_round_us; // from one pass to the next, sleep left out
	struct counters counters;
	uint64_t drops, held;
	uint64_t busy_ms, idle_ms; // since the start; idle: looking for packets that are not there
};

struct port_view {
	char name[CONF_NAME_MAX], driver[RTE_ETH_NAME_MAX_LEN], mac[RTE_ETHER_ADDR_FMT_SIZE];
	const char *side, *link;
	const struct conf_port *conf;
	const struct snapshot_port *port;
	uint64_t up, link_changes, link_mbps; // link_mbps 0: not known
	uint64_t rx_queues, mtu;
	uint64_t rx_packets, rx_bytes, rx_missed, rx_no_buffer, rx_errors;
	uint64_t tx_packets, tx_bytes, tx_errors;
};

struct queue_view {
	char port[CONF_NAME_MAX];
	uint64_t worker, queue;
	uint64_t bursts[LOOP_SIZES];
};

// From the passes that were measured.
struct stage_view {
	const char *name, *help;
	struct stage_counters counters;
	uint64_t packets_per_call, cycles_per_packet; // 0 without any
};

struct sa_view {
	char name[SA_NAME_MAX], spi[16];
	const char *direction, *mode, *cipher, *auth, *engine;
	struct ip_addr local, remote;     // remote: as far as it is known, else none
	uint64_t local_port, remote_port; // of ESP in UDP, else 0
	bool esn;
#define SA_COUNTER(name, ...) uint64_t name;
#include "sa_counter.def"
	uint64_t errors;
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
	char name[SPD_NAME_MAX], out[SA_NAME_MAX], probe[IP_ADDR_STRLEN]; // probe "-": none
	char in[VIEW_SAS_MAX];
	const char *state;
	uint64_t is[TUNNEL_STATES]; // 1 for that state, else 0
	struct ip_addr peer;        // as far as it is known, else none
	uint64_t received_ms;       // since the last packet; UINT64_MAX: there was none
	uint64_t probes;
	uint64_t silent_ms; // since it is silent; UINT64_MAX: it is not
};

// One end of the packets of a policy or rule.
struct end_view {
	struct ip_prefix prefix;
	enum ip_family family;
	uint16_t proto;              // above UINT8_MAX: any
	struct acl_port_range ports; // or types and codes of ICMP
};

struct policy_view {
	char name[SPD_NAME_MAX], in[VIEW_SAS_MAX];
	const char *action, *out;
	struct end_view local, remote;
	struct decided did;
};

struct rule_view {
	char name[RULE_NAME_MAX];
	const char *action, *in, *out, *tunnel;
	char states[32];
	bool log;
	struct end_view source, destination; // of the fallback: any
	struct decided did;
};

struct memory_view {
	const char *name, *what, *setting; // of what there are so many, and what says how many
	uint64_t used, size;
	uint64_t entries_used, entries; // the same, or UINT64_MAX where octets are counted
};

struct route_view {
	struct ip_prefix to;
	const char *kind, *port;
	char via[IP_ADDR_STRLEN];
};

struct neighbour_view {
	struct ip_addr addr;
	const char *port, *state;
	char mac[RTE_ETHER_ADDR_FMT_SIZE];
	uint64_t age_s;
};

struct drop_view {
	const char *name, *help;
	uint64_t packets;
};

// The views, by the names that lib/stats/field.def has for them. The outbound SAs come first, the
// fallback rule and the heap last; of info and total there is one.
bool collect_info(void *view, const struct gateway *g, unsigned int i);
bool collect_total(void *view, const struct gateway *g, unsigned int i);
bool collect_worker(void *view, const struct gateway *g, unsigned int i);
bool collect_port(void *view, const struct gateway *g, unsigned int i);
bool collect_queue(void *view, const struct gateway *g, unsigned int i); // of worker after worker
bool collect_stage(void *view, const struct gateway *g, unsigned int i);
bool collect_sa(void *view, const struct gateway *g, unsigned int i);
bool collect_tunnel(void *view, const struct gateway *g, unsigned int i);
bool collect_policy(void *view, const struct gateway *g, unsigned int i);
bool collect_rule(void *view, const struct gateway *g, unsigned int i);
bool collect_memory(void *view, const struct gateway *g, unsigned int i);
bool collect_route(void *view, const struct gateway *g, unsigned int i);
bool collect_neighbour(void *view, const struct gateway *g, unsigned int i);
bool collect_drop(void *view, const struct gateway *g, unsigned int i);
