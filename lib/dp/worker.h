// SPDX-License-Identifier: BSD-3-Clause
// A worker: the state of one thread of the packet path. That thread alone writes it, unless a
// comment names another.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include <rte_mempool.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "dad.h"
#include "deadline.h"
#include "drop.h"
#include "event.h"
#include "flow.h"
#include "frag_table.h"
#include "neigh.h"
#include "pkt.h"
#include "snapshot.h"
#include "stage.h"

#define DUMMIES_MAX 64  // of one pass
#define TX_MAX      512 // packets in the transmit buffer of a port
// Packets of one pass: fragments to be sent, of each stage; received packets; dummies; packets that
// the gateway originates.
#define FRAGMENTS_MAX  (FRAG_STAGES * BURST_MAX)
#define PKTS_MAX       (FRAGMENTS_MAX + RX_BURST_MAX + DUMMIES_MAX + BURST_MAX)
#define FREE_BATCH_MAX 256
// One pass in this many is measured, so that measuring costs next to nothing.
#define WORKER_STAGES_EVERY 1024
#define WORKER_HANDED_MAX   2048 // packets in a ring from other workers
// Octets after the packet that ESP may need: padding, trailer and ICV.
#define WORKER_TAILROOM 128

// After every pass: rx + originated == tx + local + sum(drops) + held, summed over all workers.
// Control thread and telemetry read them.
struct counters {
	uint64_t rx;         // packets received from ports
	uint64_t originated; // replies, errors, requests, dummies, additional fragments
	uint64_t tx;         // packets that ports have accepted
	uint64_t local;      // packets processed by the gateway, or merged into a reassembled one
	uint64_t keepalives_in;       // of these, NAT-keepalives
	uint64_t keepalives_out;      // of originated, the same
	uint64_t passes;              // with at least one packet
	uint64_t checksums_completed; // of rx, packets whose sender has left them to a card
	uint64_t errors_suppressed;   // ICMP errors not sent, for their rate
	uint64_t drops[DROP_COUNT];
};

struct trace;

// Frames of a port that is a VLAN, octets without the tag. Control thread and telemetry read them.
struct vlan_counters {
	uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes;
};

struct tx_buffer {
	uint16_t n;
	struct rte_mbuf *m[TX_MAX];
};

// Sends the packets in the transmit buffer of a port, and empties it.
typedef void (*worker_send_fn)(void *sender, uint16_t port);

// A packet that is held until the link address of its next hop is resolved; or until its inbound SA
// is added (early.h).
struct held {
	struct pkt p;
	struct ip_addr next; // address of the next hop; or of the peer
	uint64_t until;      // TSC
	uint32_t generation; // of the snapshot that p's pointers belong to
	rte_be32_t spi;      // of the SA; 0: the packet waits for its next hop
	uint16_t port;       // egress port; or ingress port
	uint16_t holder;     // worker_holder_cell()
	bool translated;     // since it was received,
	struct ip_ends sent; // with these ends: its flow may end before an error is sent about it
};

// A packet that is handed over to another worker, or held (struct hold), in the private area of its
// buffer: one cache line, since it is written in the cache of one core and read in another one.
struct handed {
	union {
		// Its buffer is known, and its next hop is one of a snapshot: the other fields are
		// in their places.
		struct pkt p;
		struct {
			uint32_t trace;     // see trace_packet_hand(); 0: the packet is not traced
			uint8_t trace_keys; // the same
			bool large;   // to be encapsulated: its ESP packet may exceed the path MTU
			void *sas[2]; // p.sa_in and p.sa_out
			uint32_t generation; // of the snapshot that p's SA belongs to
			rte_be32_t spi;      // of that SA
		};
	};
};

static_assert(offsetof(struct handed, sas) == offsetof(struct pkt, sa_in), "in the place of m");
static_assert(offsetof(struct handed, generation) == offsetof(struct pkt, nexthop),
	"in the place of nexthop");
static_assert(sizeof(struct handed) == sizeof(struct pkt), "one cache line");

#define HOLD_ENDS 16384 // a power of 2

// Packets that are held until their group is active here, in a ring: see hold.h.
struct hold {
	struct rte_mbuf **at; // struct handed
	uint32_t max, first, n;
	uint32_t n_buffers; // of them, max at most
	uint32_t n_outside; // buffers of those in clear from unprotected ports, at most half of max
	uint32_t roles;     // dad_roles(), when they were evaluated last
	uint32_t left;      // of n, to be evaluated again before other packets
	uint64_t next;      // TSC: while roles change, they are evaluated again
	bool changing;      // roles are, so that later packets may have to wait for held ones
	uint64_t ends[HOLD_ENDS / 64]; // a bit for each hash of their source and destination
};

struct fanout;

// Tables of fragments: nobody outside can fill that of the hosts inside; those from tunnels are
// kept apart by policy.
enum reassembly_side {
	REASSEMBLY_PROTECTED,   // received in clear on a protected port
	REASSEMBLY_UNPROTECTED, // received in clear on an unprotected port
	REASSEMBLY_TUNNEL,      // from an SA
	REASSEMBLY_SIDES
};

// When packets are fragmented: before they are encapsulated, or sent in clear; and afterwards, as
// ESP packets.
enum frag_stage { FRAG_BEFORE_ESP, FRAG_AFTER_ESP, FRAG_STAGES };

// Classes of packets to and from the host behind a port, which are limited separately.
enum host_class {
	HOST_NEW,       // for the host, of connections that are not established
	HOST_OPEN,      // for the host, of others
	HOST_SENT_NEW,  // by the host, as above
	HOST_SENT_OPEN, // by the host, as above
	HOST_CLASSES
};

// Sub-limits within a class of a port.
enum host_share {
	HOST_OWN,     // connections that the host has begun
	HOST_UNASKED, // ICMP errors; queries for members of groups
	HOST_RULES,   // each rule with host = true; the last ones have one together
	HOST_SHARES = 64
};

#define HOST_PEERS 64

struct host_limit {
	enum host_class class;
	uint8_t share;
};

#define WORKER_HOLDERS 256

// A packet that is evaluated while any may be translated.
struct translating {
	bool active;                  // whether it is, or may be: the rest counts
	bool port_may_change;         // of its source, without a rule for sources
	struct flow_translation flow; // the ends of packets of its flow
	struct ip_addr src;           // its own; of errors, that of a router
};

// The last fragment that policy has admitted in this pass, by all that the decision depends on but
// state that other threads change meanwhile (roles, links and SAs, policies changed in place); and
// the decision: see frag_origin.c.
struct admitted {
	uint64_t rest; // 0: there is none
	const struct sa_in *sa_in;
	struct ip_addr src, dst;
	const struct nexthop *nexthop;
	uint32_t origin;
	uint16_t in_by;
};

struct worker {
	// Set by the control thread before the worker runs.
	unsigned int id;
	uint32_t sa_place; // SA_PLACE(id)
	struct rte_mempool *pool;
	struct rte_mempool *large_pool; // for packets larger than any link's MTU: buffer.h
	const struct neigh_table *neigh;
	const struct dad *dad; // own IPv6 addresses
	struct flow_table *flows;
	struct snapshot *_Atomic *published; // written by the control thread
	struct rte_ring *events;             // to the control thread, see worker_event_dequeue()
	uint64_t tsc_hz;
	// Limits of ICMP errors, echo replies, and packets to and from the host; written by the
	// control thread.
	_Atomic uint32_t errors_per_second, echoes_per_second, host_per_second;
	// Requested trace, NULL: none; written by the control thread under the gateway's mutex.
	struct trace *_Atomic trace;
	worker_send_fn send;
	void *sender;
	uint32_t held_max, released_max;
	_Atomic uint32_t flow_slice; // written by the control thread
	uint64_t reassembly_ttl;     // TSC cycles that fragments are held at most
	struct worker *const *peers; // all workers, by id; NULL if there is one
	unsigned int n_workers;
	struct hash_key hash_key; // the same for all workers, which agree by it on a flow's owner
	// Written by all workers, read by this one. Frames, and packets out of tunnels, of flows
	// that belong to it; packets for tunnels whose sequence numbers it allocates.
	struct rte_ring *frames, *handed, *departing;
	struct fanout *fanout; // NULL: every worker opens and seals its received packets
	// See worker_host_set().
	struct rte_ring *from_host, *_Atomic to_host[HOSTS_MAX];
	void (*host_wake)(void *arg);
	void *host_wake_arg;

	struct deadline deadline __rte_cache_aligned;

	// Events of posted that were dequeued; written by the control thread.
	_Atomic uint32_t dequeued[SHARES][PORTS_MAX] __rte_cache_aligned;
	_Atomic uint32_t dequeued_of[PORTS_MAX][WORKER_HOLDERS]; // of SHARE_RESOLVE, by holder

	// State of the present pass.
	const struct snapshot *snapshot __rte_cache_aligned;
	struct trace *tracing; // loaded from trace
	uint64_t now;          // TSC
	uint32_t now_ms;       // the same in milliseconds; wraps, so that no deadline is in it
	uint16_t n_free_batch;
	uint16_t n_pkts;
	struct rte_mbuf *free_batch[FREE_BATCH_MAX];
	struct burst esp;             // ESP packets, whose SAs are to be looked up
	rte_be32_t spi[RX_BURST_MAX]; // of esp; 0, an invalid SPI: too short for an ESP header
	rte_be32_t spi_last;          // whose look-up was started last, perhaps in an earlier pass
	struct burst transit; // packets, received in clear or decapsulated, whose flows are to be
	struct flow_pkt flow_pkt[RX_BURST_MAX]; // of transit
	struct burst protect;                   // to be encapsulated
	struct burst forward;                   // to be sent in clear
	struct burst local;                     // addressed to the gateway
	struct burst frag_pending[FRAG_STAGES]; // to be fragmented once there is room
	struct burst own;                       // replies and errors originated in this pass
	uint16_t n_large;                       // of protect: their ESP packets exceed the path MTU
	uint16_t n_udp;                         // of esp: received in UDP
	union flow_deciders by;                 // policies and rule of the packet that is evaluated
	struct translating *translating;        // that packet; NULL: none may be translated
	bool as_received;                       // errors are sent about packets before translation
	const struct held *failed;              // errors are sent about this packet; NULL: others
	bool natt;                              // whether any SA uses UDP encapsulation
	bool punted;                            // packets to the host
	struct admitted admitted;

	// The first FRAGMENTS_MAX are for fragments to be sent, and reused within the pass; the
	// others are allocated in order, up to n_pkts.
	struct pkt pkt[PKTS_MAX] __rte_cache_aligned;

	// State that is kept from pass to pass.
	struct counters counters;
	struct vlan_counters vlan[PORTS_MAX]; // by port
	struct sa_audit audit;                // of packets without an SA
	uint32_t posted[SHARES][PORTS_MAX];   // events of a port's share, in total
	uint32_t posted_of[PORTS_MAX][WORKER_HOLDERS];
	struct stages stages;
	struct neigh_hints neigh_hints;
	uint64_t n_handed;    // packets handed over to others, less those taken from them; wraps
	uint32_t to_wake;     // workers to which something was handed over: a bit for each
	uint32_t fragment_id; // last identification allocated
	uint64_t replay_sample_next; // TSC, see replay_reason()
	uint64_t next_tick;          // TSC; 0 while packets are held for a group
	uint64_t next_timers;        // the same without these
	uint32_t dummies_next;       // next SA to be given dummies, an index modulo their number
	// Rates of packets about those received in clear, by port.
	struct rate_bucket errors[PORTS_MAX], echoes[PORTS_MAX];
	struct rate_bucket host[PORTS_MAX][HOST_CLASSES][HOST_SHARES];
	struct rate_bucket host_peers[PORTS_MAX][HOST_PEERS]; // by a hash of the sender
	uint32_t n_held; // held_max at most, and released_max more that were held for their group
	struct held *held;
	struct hold hold;
	struct frag_table fragments[REASSEMBLY_SIDES]; // received, of incomplete datagrams
	struct tx_buffer tx[PORTS_MAX];                // sent by the caller after each pass
};

struct worker_params {
	unsigned int id;
	struct rte_mempool *pool, *large_pool;
	const struct neigh_table *neigh;
	const struct dad *dad;
	struct flow_table *flows;
	uint32_t flow_slice; // entries of the flow table to look at in a millisecond
	struct snapshot *_Atomic *published;
	uint64_t tsc_hz;
	struct hash_key hash_key; // the same for all workers
	uint32_t errors_per_second, echoes_per_second, host_per_second;
	uint32_t held_max;
	uint32_t hold_max;       // packet buffers of packets for groups that are expected
	uint32_t released_max;   // the same of all workers
	uint32_t reassembly_max; // packet buffers of fragments held on each side
	uint32_t reassembly_s;   // seconds they are held at most
};

// Control thread. Makes a worker; the caller keeps ownership of the objects in the parameters.
// Returns NULL with errno ENOMEM.
struct worker *worker_new(const struct worker_params *p);

// Sets how many ICMP errors and echo replies may be sent in a second, and how many packets given to
// the host or accepted from it. Control thread.
void worker_limits_set(struct worker *w, uint32_t errors, uint32_t echoes, uint32_t host);

// Sets how many entries of the flow table it looks at in a millisecond. Control thread.
void worker_flow_slice_set(struct worker *w, uint32_t slice);

// Connects the worker with hosts. from: frames, and packets of hosts of tunnels, that they sent,
// with the host in m->port, i of IFACE_HOST(i), and its generation (struct snapshot, host_since) in
// m->hash.usr; wake: called at the end of a pass that has put some into the rings to hosts. The
// caller keeps ownership of the rings. Control thread, before the worker runs.
void worker_host_set(struct worker *w, struct rte_ring *from, void (*wake)(void *arg), void *arg);

// Sets the ring for the frames or packets to a host, with its generation in hash.usr; NULL: there
// is none. Any thread, any time, but a ring that was set must stay.
void worker_host_add(struct worker *w, unsigned int host, struct rte_ring *to);

// Sets the workers to which packets may be handed over. Call before they run. Control thread.
void worker_peers_set(struct worker *w, struct worker *const peers[], unsigned int n);

// Sets the function that sends a transmit buffer which is full in the middle of a pass. Without
// one, further packets for the port are dropped. Control thread, before the worker runs.
void worker_sender_set(struct worker *w, worker_send_fn send, void *sender);

// Packets that are held: for next hops, for roles of groups, for other fragments, or in rings from
// other workers and from the host. Frames of other workers there count as not yet received, those
// in lanes as being processed. Any thread.
uint64_t worker_held(const struct worker *w);

// Frees a worker and the packets that it holds. NULL is allowed.
void worker_free(struct worker *w);

// Releases the buffer of a packet that was counted, at the end of the pass.
void worker_release(struct worker *w, struct rte_mbuf *m);

// An event about a packet: by which port it came, and its addresses, protocol and ports in v.
struct event worker_event_about(
	const struct worker *w, const struct pkt *p, const struct ip_view *v, enum event_kind kind);

// Posts a best-effort event, only while the ring is less than half full: the rest is for events by
// share. If the cause persists, it is posted again.
void worker_event_post(struct worker *w, struct event *e);

// The holder that a packet is counted for, as a number that stays the same when configurations and
// SAs change: the peer that sent it, or the port, or the host behind the port.
static inline uint32_t worker_holder(const struct worker *w, const struct pkt *p)
{
	return p->in_by != 0 ? snapshot_policy(w->snapshot, p->in_by)->peer_hash : p->iface;
}

// Whether the packet that is evaluated is, or may be, translated.
static inline bool worker_translates(const struct worker *w)
{
	return w->translating != NULL && w->translating->active;
}

// The interface that a packet came by; the number of the port on whose link it is; that port.
static inline const struct iface *pkt_iface(const struct worker *w, const struct pkt *p)
{
	return &w->snapshot->iface[p->iface];
}

static inline uint16_t pkt_port(const struct worker *w, const struct pkt *p)
{
	return pkt_iface(w, p)->port;
}

static inline const struct snapshot_port *pkt_link(const struct worker *w, const struct pkt *p)
{
	return &w->snapshot->port[pkt_port(w, p)];
}

// The place of a holder in arrays of WORKER_HOLDERS, which nobody outside can choose.
static inline uint16_t worker_holder_cell(const struct worker *w, uint32_t holder)
{
	const uint64_t word = holder;

	return keyed_hash(&w->hash_key, &word, 1) % WORKER_HOLDERS;
}

// Posts an event that stations can cause on e->port. Lost if the port has used up its part of the
// share, so that a flood on one port displaces neither events of other ports and shares, nor those
// of worker_event_post(); of SHARE_RESOLVE also if the holder has its NEIGH_HOLDER_SHARE.
void worker_event_post_share(struct worker *w, struct event *e, enum event_share share);

// Posts an event that answers the control thread, which has few requests at a time. Lost only if
// the ring is full.
void worker_event_post_answer(struct worker *w, struct event *e);

// Dequeues the oldest event. False: there is none. Control thread.
bool worker_event_dequeue(struct worker *w, struct event *e);

// Takes a token of a bucket, which gains rate tokens in a second and holds up to burst. False if it
// has none. Each port and each SA has a bucket, so that a flood by one leaves the others theirs.
bool worker_has_token(const struct worker *w, struct rate_bucket *b, uint32_t rate, uint32_t burst);

// Whether the time *next has come, a TSC. If so, sets it to some ms from now, so that an event, for
// instance, is posted at most once in these.
bool worker_is_due(const struct worker *w, uint64_t *next, uint32_t ms);

// Frees the mbufs collected by worker_release().
void worker_mbufs_free(struct worker *w);

// Adds a packet to a burst, which has room for all packets of a pass that may be added to it.
static inline void burst_add(struct burst *b, struct pkt *p)
{
	b->p[b->n++] = p;
}

// Allocates n packets of this pass, which follow each other.
static inline struct pkt *pkts_new(struct worker *w, uint16_t n)
{
	struct pkt *p = &w->pkt[w->n_pkts];

	w->n_pkts = (uint16_t)(w->n_pkts + n);
	return p;
}

static inline struct pkt *pkt_new(struct worker *w)
{
	return pkts_new(w, 1);
}
