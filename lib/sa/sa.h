// SPDX-License-Identifier: BSD-3-Clause
// Security associations (RFC 4301 4.4.2), one struct for each direction. Made and freed by the
// control thread; workers read them, and write only fields whose comments allow it.
#pragma once

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_prefetch.h>

#include "addr.h"
#include "crypto.h"
#include "drop.h"
#include "key_id.h"
#include "lifetime.h"
#include "number_block.h"
#include "replay.h"
#include "sa_model.h"

#define SA_OUTER_MAX   48 // octets of the largest outer IP header, and a UDP header
#define SA_WORKERS_MAX CRYPTO_WORKERS_MAX
#define SA_RECENT_MS   2000
// Last sequence numbers (RFC 4303 3.3.3). With ESN it is so far below 2^64 that numbers allocated
// beyond it do not wrap.
#define SA_SEQ_MAX UINT32_MAX
#define SA_ESN_MAX (UINT64_MAX - UINT16_MAX)

// Which drops were reported to the control thread in a second; see audit.h of lib/dp.
struct sa_audit {
	uint32_t second;
	uint16_t reported; // a bit for each reason
};

// How many ICMP messages of a kind may still be sent.
struct rate_bucket {
	uint64_t tokens; // in 1/tsc_hz
	uint64_t time;   // TSC, when they were counted
};

struct nexthop;
struct sa_path;
struct sa_record;

// Fields of an SA that are read for each packet. Constant, unless noted.
struct sa_per_packet {
	union {
		rte_be32_t spi; // outbound
		// Inbound, the ingress of the packets in decisions of flows, which all SAs of a
		// tunnel of IKE share: a number of lib/dp/interface.h.
		uint32_t ingress;
	};
	uint8_t iv_len, icv_len; // octets
	uint8_t align;           // text is a multiple of this, at least 4 (RFC 4303 2.4)
	// Bits of DSCP and ECN (RFC 2983, RFC 6040) that the header which is written, outbound the
	// outer and inbound the inner one, takes from the other.
	uint8_t tos_copied;
	// Why the SA must not be used, an enum drop. Written by the control thread, when that
	// changes.
	_Atomic uint8_t stop;
#define SA_PACKET_OPTION(type, field, ...) type field;
#include "sa_option.def"
	struct crypto_session *session;
	union {
		struct { // of a struct sa_out; path and limit are written by the control thread
			struct sa_path *_Atomic path;
			// Last sequence number that packets may use: the last reserved one, or less
			// if the lifetime ends before, or 0 when the SA has been stopped.
			_Atomic uint64_t seq_limit;
			rte_be16_t df_copied; // DF, if the outer header takes it from the inner
			rte_be16_t df_set;    // DF, if the outer header always has it
			uint8_t tos_fixed;    // bits that the outer header has
			uint8_t block_zeros;  // high bits that the mask of struct number_blocks
					      // lacks
		};
		struct { // of a struct sa_in
			// sa_v4_end() of the IPv4 packets for it; with IPv6 a value that no packet
			// has. Written by the control thread when the local address moves.
			uint64_t v4_end;
			struct replay replay;
		};
	};
};

// A worker's part of an SA, on a cache line for packets and others for rare cases. Written by that
// worker and read by the control thread; per_packet is a copy, which the control thread writes.
struct sa_per_worker {
	struct sa_per_packet per_packet;
#define SA_COUNTER(name, ...) uint64_t name;
#include "sa_counter.def"
	uint64_t drops[DROP_OF_SA_COUNT]; // by drop_info[].of_sa
	struct sa_audit audit;
	struct rate_bucket errors;   // of inbound SAs: about decapsulated packets
	struct rate_bucket echoes;   // of inbound SAs: replies to decapsulated packets
	struct rate_bucket host[2];  // of inbound SAs: decapsulated packets for the host, by class
	uint64_t replay_sample_next; // of inbound SAs: TSC, see replay_reason() of lib/dp
	uint64_t above_end;          // see sa_in_above_end()
} __rte_cache_aligned;

static_assert(offsetof(struct sa_per_worker, dummies) <= RTE_CACHE_LINE_SIZE,
	"an option or field too many for the line of a worker's packets");

// Packets that were dropped for a reason; 0 if the reason is none of an SA.
static inline uint64_t sa_dropped(const struct sa_per_worker *c, enum drop reason)
{
	const struct drop_info *info = &drop_info[reason];

	return info->scope == DROP_SCOPE_SA ? c->drops[info->of_sa] : 0;
}

// Endpoint of a peer. The port is of ESP in UDP, else 0.
struct sa_peer {
	struct ip_addr addr; // none: not known yet
	rte_be16_t port;
};

// Parameters of a new SA. The caller keeps ownership of key octets and engine.
struct sa_params {
	struct sa_options opt;
	struct sa_live live;
	const uint8_t *cipher_key, *auth_key; // see struct crypto_key
	uint64_t iv_mask;
	const char *engine; // crypto engine or "auto"
	unsigned int n_workers;
	// Of a pair, or of a fleet, whose numbers an outbound SA uses; 0: of none.
	unsigned int member, fleet_member;
	bool by_grant; // it has no numbers before sa_grant()
	bool follows;  // its local address is that of a port: with another it is the same SA
	// Outbound: next hop towards the peer, of the table of routes (NULL: the peer is not
	// known), and octets of IP packet that fit the link.
	const struct nexthop *nexthop;
	uint16_t mtu;
};

// The endpoint of the peer as it is configured, from which a peer that is followed may move.
static inline struct sa_peer sa_peer_configured(const struct sa_options *o)
{
	return (struct sa_peer){o->remote, o->in_udp ? rte_cpu_to_be_16(o->udp_remote_port) : 0};
}

// Fields that both directions share: members of a struct sa_out or sa_in, by opt.direction.
// Constant, unless noted.
struct sa {
	struct sa_per_packet per_packet;  // source of the copies for workers
	struct sa_per_worker *per_worker; // the array of the struct sa_out or sa_in
	rte_be32_t spi;
	unsigned int n_workers; // in per_worker; outbound the control thread is the last
	// Own port of ESP in UDP (RFC 3948); 0: ESP follows the IP header.
	rte_be16_t udp_port;
	struct sa_options opt; // the control thread writes local, when that moves
	// Written by the control thread, for itself; telemetry reads it under the gateway's mutex,
	// and a worker that traces packets reads the name, whose octets may be those of two then.
	struct {
		struct sa_live live;
		struct lifetime lifetime;
		// Octets of the largest packet into its tunnel; 0: as the path allows. Workers
		// read it if a packet is too large.
		_Atomic uint16_t mtu_max;
		// Sources of stop, each an enum drop: the reason for the end of its life, and that
		// for which its local address must not be used.
		uint8_t ended;
		uint8_t local_unusable;
		// Time of the last growth of its bytes, and their number then; 0: never.
		uint64_t seen_ms, seen_bytes;
		// When that was last checked; octets in a second, recently.
		uint64_t looked_ms, rate;
		// Of sa_ledger.c:
		struct sa_record *record; // of its key; NULL: not added yet
		struct sa *next;          // of the record
		struct sa *group_next;    // of the configuration, see lib/control/group.h
		unsigned int refs;        // snapshots that have taken it
		bool begun;               // workers have seen it
		bool by_grant;            // as of struct sa_params
	} __rte_cache_aligned;
};

// How packets are framed for a path; see esp_out.h.
enum sa_framing {
	SA_FRAME_TUNNEL,
	SA_FRAME_TUNNEL_TFC,
	SA_FRAME_TUNNEL_UDP,
	SA_FRAME_TRANSPORT,
	SA_FRAME_NONE, // the peer is not known yet
	SA_FRAMINGS
};

// Path of an SA to its peer. Immutable once published: the control thread replaces it, and frees it
// after a grace period (QSBR).
struct sa_path {
	// IP header, and UDP header of ESP in UDP; lengths, id, TOS and sums are open.
	uint8_t outer[SA_OUTER_MAX];
	// Octets of it that are put in front of ESP: in transport mode without the IP header.
	uint8_t outer_len;
	uint8_t framing; // an enum sa_framing
	// Sum of an IPv4 header's words after the first eight octets (RFC 1071), in host byte
	// order.
	uint16_t outer_sum;
	// Largest inner packet whose ESP packet fits the path MTU; in transport mode, where that
	// depends on the packet's headers (esp_out_mtu()), whatever they are.
	uint16_t mtu;
	uint16_t link_mtu;             // path MTU to the peer, octets of IP packet
	const struct nexthop *nexthop; // of the table of routes; NULL: the peer is not known yet
} __rte_cache_aligned;

static_assert(sizeof(struct sa_path) == RTE_CACHE_LINE_SIZE, "one line for packets");

// Dummy packets (RFC 4303 2.6). Written by one worker alone.
struct sa_dummies {
	uint64_t seq;     // last number allocated at time,
	uint64_t time;    // TSC, when dummies were last considered
	uint64_t missing; // packets, in 1/tsc_hz
};

struct sa_out {
	struct sa sa;
	// Last number allocated; written by workers. Alone on its line, so that fields that they
	// only read stay in all caches.
	_Atomic uint64_t seq __rte_cache_aligned;
	struct sa_dummies dummies __rte_cache_aligned;
	// Written by the control thread. Workers read seq_recent: numbers above it were allocated
	// in the last seconds; see sa_out_is_recent(). They read seq_max once numbers run out.
	struct {
		_Atomic uint64_t seq_recent;
		uint64_t seq_max;            // last own number there is; constant
		uint64_t seq_reserved;       // see sa_out_allow()
		uint64_t seq_granted;        // see sa_grant()
		uint64_t block_end;          // last number of the block that is in use
		struct number_blocks blocks; // constant
		struct sa_peer peer;         // that the path leads to
		// Its next peer, once there is memory for another path; none: there is none.
		struct sa_peer pending;
		bool into_tunnel;    // the route to the peer leads into one, which is not used
		bool has_taken_over; // and the peer has not been shown that: peer_takeover.h
		uint64_t leapt_ms;   // leap of the peer after which numbers were left out; 0: none
		uint64_t wanted;     // the number after which it continues once it may; 0: none
		uint64_t sent_seq; // last number allocated when a NAT-keepalive was last considered
		uint64_t sent_ms; // when the last packet or NAT-keepalive was sent, as far as known
		uint64_t sampled_seq; // last number allocated at sampled_ms, the next seq_recent
		uint64_t sampled_ms;
	} __rte_cache_aligned;
	struct sa_per_worker per_worker[];
} __rte_cache_aligned;

struct sa_in {
	struct sa sa;
	struct replay_memory *replay_memory; // of the replay window; NULL: the heap
	// Written by the control thread.
	struct {
		// Of ESP in UDP: where the newest packet was sent from; NULL: there was none. Never
		// changed, but replaced like a path.
		struct sa_peer *_Atomic endpoint;
		uint64_t endpoint_ms; // when
		uint64_t moves_ms;    // when the peer may move MOVES_MAX times again
		uint64_t looked_top;  // top of its window, as of peer_takeover.h
		uint64_t leapt_ms;    // when that has leapt; 0: never
	} __rte_cache_aligned;
	struct sa_per_worker per_worker[];
} __rte_cache_aligned;

// Where the part of a worker is in the array of an SA: octets from its start.
#define SA_PLACE(worker) ((worker) * (uint32_t)sizeof(struct sa_per_worker))

// Returns NULL with errno ENOMEM or ENOTSUP (no engine has the algorithms).
struct sa *sa_new(const struct sa_params *p, enum sa_direction direction);

// Wipes the keys. NULL is allowed. An outbound SA takes its path with it.
void sa_free(struct sa *sa);

// The name under which the sequence numbers of an SA are counted. With a cipher whose nonces are
// numbers it is that of its key and salt, which must never meet a number twice (RFC 3686 2.1, RFC
// 4106 3.1); else that of keys and SPI, so that the peer's window does not see one twice. Any
// thread.
struct key_id sa_numbers_id(const struct sa_options *o);

// Before workers see the SA: the first outbound number is the first own one after seq, or there is
// none left; inbound, no number up to seq is accepted any more.
void sa_start_behind(struct sa *sa, uint64_t seq);

// The highest number that was used: outbound a reserved, inbound an accepted one. Control thread;
// workers may use the SA.
uint64_t sa_numbers_used(const struct sa *sa);

// Changes the options that may change while the SA is in use. The used part of its lifetimes
// counts; if it had been stopped for a lifetime that is longer now, it continues. Control thread.
void sa_change(struct sa *sa, const struct sa_live *live);

// A path for an SA: from local, where it may have to move (sa_local_move()), to peer by nexthop,
// with a path MTU of link_mtu octets of IP packet. NULL with errno ENOMEM. The caller owns it, and
// frees it with line_free(), until sa_out_path_set().
struct sa_path *sa_path_new(const struct sa *sa, const struct ip_addr *local,
	const struct sa_peer *peer, const struct nexthop *nexthop, uint16_t link_mtu);

// The same path with another path MTU.
struct sa_path *sa_path_resized(const struct sa *sa, const struct sa_path *path, uint16_t link_mtu);

// Limits inner packets, in octets, of the paths that sa_out_path_set() sets from now on, and of the
// first one if no worker has seen it yet. 0: no limit.
void sa_out_limit(struct sa_out *sa, uint16_t mtu_max);

// Replaces the path and returns the one before: the caller's, to be freed after a grace period.
// Control thread.
struct sa_path *sa_out_path_set(struct sa_out *sa, struct sa_path *path);

// Octets of the largest piece, an inner packet or the octets after a header, whose ESP packet is at
// most mtu octets long with outer_len octets in front of ESP (RFC 4303 2). 0 if nothing fits.
uint16_t sa_inner_mtu(const struct sa *sa, uint16_t outer_len, uint16_t mtu);

// Used part of the lifetime of an SA. Its packets are sequence numbers: outbound the allocated
// ones, inbound the highest accepted, or the packets if they are more. Control thread; workers may
// use it.
void sa_used(struct sa *sa, uint64_t now_ms, uint64_t used[LIFETIME_UNITS]);

// Stops an SA, because there is nothing left in this unit. An inbound SA does not end with its last
// sequence number: those inside the window may still be late (RFC 4303 3.4.3), and there are no
// others. Its other units stop it later. Control thread.
void sa_stop(struct sa *sa, enum lifetime_unit unit);

// The own end has another address of the same family, for packets and for paths made from now on. A
// worker may see half of each address for a moment, and drop a packet. Control thread.
void sa_local_move(struct sa *sa, const struct ip_addr *local);

// Before workers see the SA: sets the ingress of its packets.
void sa_in_ingress_set(struct sa_in *sa, uint32_t ingress);

// Before workers see the SA: keeps its replay window in memory that outlives the process, as
// replay_keep_in(); the memory has to exist until the SA is freed.
int sa_in_window_keep(struct sa_in *sa, struct replay_memory *memory, const struct key_id *id);

// Sets the reason for which packets are dropped as the local address must not be used:
// DROP_ADDR_UNUSABLE (RFC 4862 5.4) or DROP_STANDBY. DROP_NONE, as at first: it may. Control
// thread.
void sa_local_set(struct sa *sa, enum drop reason);

// The last number that there is, or that the lifetime in packets lets it use. Any thread.
uint64_t sa_out_life_end(const struct sa_out *sa);

// The last number allocated, at most that. Any thread.
uint64_t sa_out_seq(const struct sa_out *sa);

// Records the recent numbers: those allocated in the last SA_RECENT_MS, and in as long before. To
// be called more often than that. Control thread.
void sa_out_sample(struct sa_out *sa, uint64_t now_ms);

// Whether the SA allocated, in the last seconds, a number whose low 32 bits are these. Any thread.
bool sa_out_is_recent(const struct sa_out *sa, uint32_t seq);

// Lets workers use the numbers up to this one, as far as its life and its block go. To begin with
// all are allowed. Control thread.
void sa_out_allow(struct sa_out *sa, uint64_t seq);

// The highest number of an authentic packet that was dropped as it was above the end of the window;
// 0: none was. Control thread.
uint64_t sa_in_above_end(const struct sa *sa);

// Lets workers use, or inbound accept, no number above this one, whatever is allowed: those up to
// it were granted to this member of a fleet. Inbound only with ESN. Control thread.
void sa_grant(struct sa *sa, uint64_t seq);

// The last number that was granted; UINT64_MAX: all are. Control thread.
uint64_t sa_granted(const struct sa *sa);

// Continues with the first own number after seq. If that is of another block, packets that have a
// number and are not framed yet are dropped. Control thread; workers may use the SA.
void sa_out_block_set(struct sa_out *sa, uint64_t seq);

// Why an SA that has nothing left in this unit drops: DROP_SEQUENCE_END or DROP_LIFETIME. Any
// thread.
enum drop sa_end_reason(const struct sa *sa, enum lifetime_unit unit);

// The SA of which this is a member; its direction must be that.
static inline struct sa_out *sa_out_of(const struct sa *sa)
{
	return (struct sa_out *)(uintptr_t)sa;
}

static inline struct sa_in *sa_in_of(const struct sa *sa)
{
	return (struct sa_in *)(uintptr_t)sa;
}

// Why the SA must not be used; DROP_NONE: it may. And whether it must not although no other gateway
// uses it instead. Any thread.
static inline enum drop sa_stop_reason(const struct sa *sa)
{
	return (enum drop)atomic_load_explicit(&sa->per_packet.stop, memory_order_relaxed);
}

static inline bool sa_has_ended(const struct sa *sa)
{
	return sa_stop_reason(sa) != DROP_NONE && sa_stop_reason(sa) != DROP_STANDBY;
}

static_assert(offsetof(struct sa_out, sa) == 0 && offsetof(struct sa_in, sa) == 0, "see above");

// Whether an inbound SA is another, or takes its place with the same SPI and keys.
static inline bool sa_in_is_same(const struct sa_in *a, const struct sa_in *b)
{
	return a == b ||
	       (a->sa.spi == b->sa.spi && a->sa.record != NULL && a->sa.record == b->sa.record);
}

// As sa_new().
static inline struct sa_out *sa_out_new(const struct sa_params *p)
{
	return sa_out_of(sa_new(p, SA_OUT));
}

static inline struct sa_in *sa_in_new(const struct sa_params *p)
{
	return sa_in_of(sa_new(p, SA_IN));
}

// Whether packets that must not be cut are carried all the same where they are too large, and only
// their ESP packets are cut.
static inline bool sa_df_is_clear(const struct sa_per_packet *sa)
{
	return (sa->df_copied | sa->df_set) == 0;
}

// Sets the endpoint of the peer, of line_calloc(), at now_ms. Returns the one before (or NULL), the
// caller's as with sa_out_path_set(). Control thread.
struct sa_peer *sa_in_endpoint_set(struct sa_in *sa, struct sa_peer *peer, uint64_t now_ms);

// An own address and a port of ESP in UDP, or 0, as an IPv4 packet brings them.
static inline uint64_t sa_v4_end(rte_be32_t addr, rte_be16_t udp_port)
{
	return (uint64_t)udp_port << 32 | addr;
}

// Both: any thread; workers for the length of a pass.
static inline const struct sa_peer *sa_in_endpoint(const struct sa_in *sa)
{
	return atomic_load_explicit(&sa->endpoint, memory_order_acquire);
}

static inline const struct sa_path *sa_out_path(const struct sa_out *sa)
{
	return atomic_load_explicit(&sa->sa.per_packet.path, memory_order_acquire);
}

// The part of a worker. place is SA_PLACE() of the worker.
static inline struct sa_per_worker *sa_in_at(const struct sa_in *sa, size_t place)
{
	return (struct sa_per_worker *)RTE_PTR_ADD(sa->per_worker, place);
}

// Prefetches the memory to open a packet with this lower half of a sequence number.
static inline void sa_in_prefetch(const struct sa_in *sa, size_t place, uint32_t seq)
{
	const struct sa_per_packet *per_packet = &sa_in_at(sa, place)->per_packet;

	rte_prefetch0(per_packet->session);
	replay_prefetch(&per_packet->replay, seq);
}

static inline struct sa_per_worker *sa_out_at(const struct sa_out *sa, size_t place)
{
	return (struct sa_per_worker *)RTE_PTR_ADD(sa->per_worker, place);
}

// The same as sa_out_path(), of the worker's copy.
static inline const struct sa_path *sa_out_path_at(const struct sa_out *sa, size_t place)
{
	return atomic_load_explicit(&sa_out_at(sa, place)->per_packet.path, memory_order_acquire);
}

// Both together prefetch the memory to frame a packet; the second waits for the first.
static inline void sa_out_prefetch(const struct sa_out *sa, size_t place)
{
	__builtin_prefetch(sa_out_at(sa, place), 1);
	__builtin_prefetch(&sa->seq, 1);
}

static inline void sa_path_prefetch(const struct sa_out *sa, size_t place)
{
	rte_prefetch0(sa_out_path_at(sa, place));
}

// Allocates n sequence numbers and returns the first (RFC 4303 3.3.3). Numbers above seq_max must
// not be used. Any worker.
static inline uint64_t sa_out_seq_alloc(struct sa_out *sa, uint32_t n)
{
	return atomic_fetch_add_explicit(&sa->seq, n, memory_order_relaxed) + 1;
}

// To be called when a number above seq_max was allocated. All up to it were, so the counter may go
// back there: it never gets further than one burst of every worker, and does not wrap. (Not so for
// the end of a lifetime, which may be moved.)
static inline void sa_out_hold_seq(struct sa_out *sa)
{
	atomic_store_explicit(&sa->seq, sa->seq_max, memory_order_relaxed);
}
