// SPDX-License-Identifier: BSD-3-Clause
// The flow table and connection tracking (TCP: RFC 9293, RFC 5961, RFC 7323; ICMP: RFC 5927).
//
// One table for all workers. Lookups take no lock, an insertion or removal takes that of a bucket
// for a few stores. The memory of a removed entry is reused after a grace period of all workers
// (QSBR), so a flow that was found stays readable until its worker reports quiescence.
//
// Time is in milliseconds of a clock that never steps and may wrap; workers read it once per pass.
//
// A worker's pass over a burst:
//
//	for each packet: flow_lookup_read() of flow_lookup.h, which reads its headers
//	flow_find_burst(t, x, p, place, n); // x: flow_index() since before the first packet
//	for each packet: if (!flow_is_of_packet()) // of flow_lookup.h
//		flow_find(), if place.own is another flow's, or if an earlier packet of the
//		burst may have made it; else flow_insert() with the decision of the slow path;
//		then flow_decision_get() and flow_track() of flow_track.h; without a decision
//		flow_track() first, then the slow path and flow_decision_set()
//	flow_tick()
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_rcu_qsbr.h>
#include <rte_tcp.h>

#include "addr.h"
#include "flow_entry.h"
#include "flow_nat.h"
#include "flow_pkt.h"
#include "flow_region.h"

struct flow_index;
struct flow_table;

#define FLOW_WORKERS_MAX  64
#define FLOW_TIMEOUT_MAX  2000000 // seconds: half of the range of the clock
#define FLOW_CAPACITY_MAX (1u << 26)
// An established flow with a packet in this time is active: it is not evicted, unless its holder
// has at least twice as many flows as the one that needs room. Then the time shrinks with the free
// part of the table, to FLOW_BUSY_MS.
#define FLOW_ACTIVE_MS 10000
#define FLOW_BUSY_MS   100
// An established flow idle for less is not evicted for a flood of unanswered packets (RFC 5382 5).
// If a rule chose the port of its source, FLOW_ACTIVE_MS is as long for it.
#define FLOW_SPARED_MS (124 * 60 * 1000)
// The holder of a flow is the port, or the peer of the tunnel, that received its first packet.
// It may have this many times as many flows as are free: if it is alone the whole capacity, beyond
// which the table has as much more for others.
#define FLOW_HOLDER_SHARE 16

struct flow_config {
	uint32_t source_limit; // flows of class NEW that one address may have begun; 0: any number
	bool strict;           // TCP out of its window is dropped; otherwise counted, and accepted
	bool pick_up;          // an open TCP connection without a flow is tracked, not dropped
	uint32_t timeout_s[FLOW_STATE_COUNT]; // indexed by state, at most FLOW_TIMEOUT_MAX
};

struct flow_params {
	uint32_t capacity;         // flows of one holder, 1 to FLOW_CAPACITY_MAX
	uint32_t capacity_max;     // that it may grow to; 0: it does not
	unsigned int workers;      // 1 to FLOW_WORKERS_MAX
	struct rte_rcu_qsbr *qsbr; // every worker reports to it, under any number
	unsigned int reader;       // a further number that is registered there: reads for lists
};

// By one worker, or the sum of all.
struct flow_counters {
	uint64_t created;
	uint64_t expired;
	uint64_t evicted; // from a full table
	uint64_t flushed;
	uint64_t reopened; // a new connection in the entry of a closed one
	uint64_t bindings; // translated flows that began
	uint64_t bindings_ended;
	uint64_t bindings_lost;       // records for which there was no room: flow_binding.h
	uint64_t records_lost;        // the same of flow_record.h
	uint64_t refused[DROP_COUNT]; // by reason, including packets that passed because strict is
				      // off
};

// Control thread

// The defaults: those of flow_state.def, strict, no picking up, no limit.
void flow_config_init(struct flow_config *c);

// Maps the memory of the table, flow_table_memory() octets, in huge pages if the kernel has them.
// Has room for the first 32768 flows: call flow_table_fill() for the rest. Returns NULL with errno
// ENOMEM, or that of getrandom(2).
struct flow_table *flow_table_new(const struct flow_params *p, const struct flow_config *c);

// Makes room for 8192 flows more, while workers run, in the time the kernel takes to clear 2 MB.
// False when there is room for all, or while it waits for flow_table_tick().
bool flow_table_fill(struct flow_table *t);

// Maps the memory that another capacity, up to params.capacity_max, needs in addition. Returns 0
// and flow_table_resize() may be called; or -ENOMEM; or -EBUSY: it grows at this moment, for some
// seconds.
int flow_table_prepare(struct flow_table *t, uint32_t capacity);

// Changes the capacity, while workers run. Flows stay, even if they are too many: their number
// falls as they end. It takes more some seconds later, about one round of flow_tick(). Memory is
// not given back.
void flow_table_resize(struct flow_table *t, uint32_t capacity);

// Entries that each worker has to look at in a millisecond, of flow_tick(). Changes by
// flow_table_resize() alone: entries beyond a smaller capacity may have flows.
uint32_t flow_table_slice(const struct flow_table *t);

// Continues the change that flow_table_resize() has begun. To be called often, while no other
// thread but workers looks flows up.
void flow_table_tick(struct flow_table *t);

// Maps the memory for flows that are translated, 75 octets for each, unless it has been. Before
// flow_insert() gets a translation. flow_table_fill() has the kernel clear it. Returns 0 or
// -ENOMEM.
int flow_table_translate(struct flow_table *t);

// When no worker uses it any more. NULL is allowed.
void flow_table_free(struct flow_table *t);

// Octets of memory of a table of this size.
size_t flow_table_memory(const struct flow_params *p);

// Changes the configuration, for workers from their next packet on.
void flow_table_configure(struct flow_table *t, const struct flow_config *c);

// After this gateway has become active in a group, for as long as on is set: an open TCP connection
// without a flow is tracked, whatever the configuration has, and so is a reply of ICMP, unless
// rules translate it; and windows of known ones are learnt again if a segment does not fit, since
// the other gateway has forwarded the ones before.
void flow_table_take_over(struct flow_table *t, bool on);

// Counters, summed over all workers.
void flow_counters_sum(const struct flow_table *t, struct flow_counters *sum);

// Flows in the table: created minus removed.
uint64_t flow_count(const struct flow_table *t);

// A flow matches if it matches all that is set.
struct flow_filter {
	struct ip_prefix addr; // of either end; ::/0: any
	rte_be16_t port;       // of either end; 0: any
	uint8_t proto;         // 0: any
	enum flow_state state; // FLOW_FREE: any
	uint16_t nat;          // number of the rule that translates either end; 0: any
	// The SA of either direction, in a snapshot of this generation; neither: any.
	const struct sa_out *sa_out;
	struct sa_out *_Atomic const *outs; // of policies, by number; for sa_out
	uint32_t ingress;
	uint32_t generation;
	// 1 + numbers of interfaces, one of which packets of either direction come by, or is the
	// holder; 0: any.
	uint32_t iface[2];
};

// Why a flow ends, or why it has a record (flow_record.h): flowEndReason of IPFIX, information
// element 136.
enum flow_end {
	FLOW_END_IDLE = 1,  // idle timeout
	FLOW_END_ACTIVE,    // active timeout: the flow continues
	FLOW_END_CLOSED,    // TCP was closed or reset
	FLOW_END_FORCED,    // removed on request
	FLOW_END_RESOURCES, // evicted
};

struct flow_view {
	struct flow_key key;
	enum flow_state state;
	unsigned int initiator; // the end that began: key.addr[initiator]
	bool replied;
	bool translated;
	struct flow_translation translation; // of packets of the end that began
	uint32_t age_ms;                     // since it began
	uint32_t idle_ms;
	uint64_t packets[2], octets[2];   // by the end that sent them
	uint32_t generation[2];           // of the decisions; 0: none
	struct flow_decision decision[2]; // alive if the caller knows their generation to be
};

#define FLOW_LIST_START 0u
#define FLOW_LIST_END   UINT32_MAX

// Copies up to n flows, looking from *position on, and moves that on; it is FLOW_LIST_END when no
// entry is left. Checks a bounded number of entries: fewer than n, even none, does not mean the
// end. Any thread but workers, while these run. Returns how many.
unsigned int flow_list(struct flow_table *t, const struct flow_filter *filter, uint32_t now,
	uint32_t *position, struct flow_view out[], unsigned int n);

// Makes the workers remove the flows that match, each in its part of the table, within one round of
// flow_tick(). Returns 0, or -EBUSY while they are still at an earlier one.
int flow_flush(struct flow_table *t, const struct flow_filter *filter);

// Whether all workers have finished the last flush.
bool flow_flush_is_over(const struct flow_table *t);

// Makes the workers remove the decisions of all flows from or to addresses of these regions, within
// one round of flow_tick(). Call it a grace period after the change for which they are to be
// decided again, so that no worker still decides as before: a decision that was stored before the
// call is removed, and one that is stored later knows the change.
void flow_redecide(struct flow_table *t, const struct flow_regions *regions);

// Workers. worker: 0 to params.workers - 1, used by one thread at a time.

#define FLOW_BURST_MAX 64
#define FLOW_ROUND_MS  4000

// Where the lookup of a flow is: at the first bucket of its hash, and after flow_find_burst() at a
// flow with that hash: most likely that of the packet.
union flow_place {
	const struct bucket *bucket;
	struct flow_dir *own; // of the packet's direction; NULL: there is none
};

// Whether any flow may be translated; the second key of one that is.
bool flow_table_translates(const struct flow_table *t);
const struct flow_nat *flow_nat_of(const struct flow_table *t, const struct flow *f);

// Starts the lookup of the flow of a packet: computes its hash, and prefetches its bucket.
union flow_place flow_lookup_start(const struct flow_table *t, struct flow_pkt *p);

// Prefetches the memory that flow_insert() reads in a full table. After flow_lookup_start(), for n
// packets without a flow, at most FLOW_BURST_MAX.
void flow_insert_prefetch(
	const struct flow_table *t, const struct flow_pkt *const p[], unsigned int n);

// Finds, for n packets whose lookups are started, flows with their hashes, and prefetches the lines
// that flow_is_of_packet(), flow_decision_get() and flow_track() read. x: the index in which the
// lookups were started: a flow may be in its second bucket there, and in its first one of the next.
void flow_find_burst(const struct flow_table *t, struct flow_index *x, const struct flow_pkt p[],
	union flow_place place[], unsigned int n);

// The flow of one packet, after flow_lookup_start(). Sets the packet's direction to that in the
// flow. NULL: there is none, and the packet has its own direction, also if one was found before.
struct flow *flow_find(const struct flow_table *t, struct flow_pkt *p);

// No drops:
#define FLOW_EXISTS     DROP_COUNT
#define FLOW_PORT_TAKEN ((enum drop)(DROP_COUNT + 1))

// Adds the flow of a packet for which none was found, after flow_lookup_start(), or finds the one
// that another worker has just added: FLOW_EXISTS; flow_track() comes next. holder names who has
// the flow, by a number that stays the same when configurations and SAs change. A holder that has
// its share replaces a flow of the largest holder, itself included, that is not active.
// translation: of packets of this end; NULL: none. decision: of packets of its direction, whose
// mark is the generation, which nobody finds the flow without; NULL: there is none. Returns
// DROP_NONE, or why there can be none: DROP_CT_INVALID, also if the packet has the ends of a
// translated flow but not its direction, DROP_ICMP_UNRELATED, DROP_TCP_UNOPENED,
// DROP_FLOW_SOURCE_LIMIT, DROP_FLOW_TABLE_FULL; DROP_NAT_LIMIT: the source or the holder has as
// many ports as the translation allows; DROP_NAT_PORTS: another flow has the ends that the
// translation makes; FLOW_PORT_TAKEN: the same of a port that was chosen, in whose place another
// one may be.
enum drop flow_insert(struct flow_table *t, unsigned int worker, struct flow_pkt *p,
	const struct flow_translation *translation, uint32_t holder, uint32_t now,
	const struct flow_decision *decision, struct flow **flow);

enum flow_ct { FLOW_CT_NEW, FLOW_CT_ESTABLISHED, FLOW_CT_RELATED };

// Class of a tracked packet, for the firewall.
static inline enum flow_ct flow_ct(const struct flow *f, const struct flow_pkt *p)
{
	if (p->icmp_error)
		return FLOW_CT_RELATED;
	return (flow_word(f) & FLOW_REPLIED) != 0 ? FLOW_CT_ESTABLISHED : FLOW_CT_NEW;
}

// Whether the packet is a SYN that starts another connection in the entry of a closed one.
static inline bool flow_reopens(const struct flow *f, const struct flow_pkt *p)
{
	enum flow_state state;

	if (likely((p->tcp_flags & RTE_TCP_SYN_FLAG) == 0) ||
		(p->tcp_flags & RTE_TCP_ACK_FLAG) != 0)
		return false;
	state = flow_word_state(flow_word(f));
	return state == FLOW_TCP_TIME_WAIT || state == FLOW_TCP_CLOSE;
}

// Looks at the next n entries of this worker's part of the table, removes flows that have timed out
// or are to be flushed, and reclaims the memory of flows removed earlier. To be called every
// millisecond, with n for a round through the part in FLOW_ROUND_MS. A flow outlives its timeout by
// one round at most: timeouts below 16 s make rounds shorter, so that this is at most half of the
// shortest.
void flow_tick(struct flow_table *t, unsigned int worker, uint32_t now, unsigned int n);

// Removes a flow at once, at the time now in ms: its memory stays readable until the worker reports
// quiescence.
void flow_remove(struct flow_table *t, unsigned int worker, struct flow *f, uint32_t now);
