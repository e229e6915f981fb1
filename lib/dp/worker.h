// SPDX-License-Identifier: BSD-3-Clause
// A worker: the state of one datapath thread. Written by that thread alone, except where said.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include <rte_mempool.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "dad.h"
#include "drop.h"
#include "event.h"
#include "flow.h"
#include "frag_table.h"
#include "neigh.h"
#include "pkt.h"
#include "snapshot.h"
#include "stage.h"

#define DUMMIES_MAX 64  // of one pass
#define TX_MAX      512 // packets for one port that a pass may leave behind
// Packets of one pass: fragments that are on their way, of each kind; those that came in, dummies,
// those made here.
#define FRAGMENTS_MAX  (FRAG_STAGES * BURST_MAX)
#define PKTS_MAX       (FRAGMENTS_MAX + RX_BURST_MAX + DUMMIES_MAX + BURST_MAX)
#define FREE_BATCH_MAX 256
// One pass in so many is measured: the cost of measuring is lost in the noise.
#define WORKER_STAGES_EVERY 1024
// Octets behind the packet that ESP may need: padding, trailer and ICV.
#define WORKER_TAILROOM 128

// After every pass: rx + originated == tx + local + sum(drops) + held, summed over all workers,
// where tx counts what ports took. Read by the control thread.
struct counters {
	uint64_t rx;         // packets from ports
	uint64_t originated; // packets made here: answers, errors, requests, additional fragments
	uint64_t tx;         // packets that ports took
	uint64_t local;      // packets that end here: served, or joined to a reassembled one
	uint64_t keepalives_in;     // of these, NAT-keepalives
	uint64_t keepalives_out;    // of originated, the same
	uint64_t passes;            // with at least one packet
	uint64_t errors_suppressed; // ICMP errors not sent, for their rate
	uint64_t drops[DROP_COUNT];
};

struct trace;

struct tx_buffer {
	uint16_t n;
	struct rte_mbuf *m[TX_MAX];
};

// Has a port take what is in its buffer, and empties that.
typedef void (*worker_send_fn)(void *sender, uint16_t port);

// A packet that waits for its next hop's link address.
struct held {
	struct pkt p;
	struct ip_addr next; // address of the next hop
	uint64_t until;      // TSC
	uint32_t generation; // of the snapshot that p's pointers belong to
	uint16_t port;       // to leave by
};

// Tables of fragments: nobody outside can fill that of the hosts inside; those from tunnels are
// kept apart by policy.
enum reassembly_side {
	REASSEMBLY_PROTECTED,   // received in clear on a protected port
	REASSEMBLY_UNPROTECTED, // received in clear on an unprotected port
	REASSEMBLY_TUNNEL,      // from an SA
	REASSEMBLY_SIDES
};

// What is cut: packets in clear, and ESP packets.
enum frag_stage { FRAG_BEFORE_ESP, FRAG_AFTER_ESP, FRAG_STAGES };

struct worker {
	// Set before the worker runs.
	unsigned int id;
	struct rte_mempool *pool;
	struct rte_mempool *large_pool; // for what is larger than a link takes: buffer.h
	const struct neigh_table *neigh;
	const struct dad *dad; // own IPv6 addresses
	struct flow_table *flows;
	struct snapshot *_Atomic *published; // written by the control thread
	struct rte_ring *events;             // to the control thread, see worker_event_dequeue()
	// Of posted; written by the control thread.
	_Atomic uint32_t dequeued[SHARES][PORTS_MAX];
	uint64_t tsc_hz;
	// ICMP errors and echo replies at most; written by the control thread.
	_Atomic uint32_t errors_per_second, echoes_per_second;
	struct trace *_Atomic trace; // that is asked for, NULL: none; written by the control thread
	worker_send_fn send;
	void *sender;
	uint32_t held_max;
	uint32_t flow_slice;
	uint64_t reassembly_ttl;     // TSC cycles that fragments are held at most
	struct worker *const *peers; // all workers, by id; NULL if there is one
	unsigned int n_workers;
	struct hash_key hash_key; // of all workers: they agree on who gets what
	struct rte_ring *handed;  // fragments out of tunnels; from all workers

	// Of the pass.
	const struct snapshot *snapshot;
	struct trace *tracing; // trace, as the worker has seen it last
	uint64_t now;          // TSC
	uint32_t now_ms;       // the same in milliseconds; wraps
	uint16_t n_free_batch;
	uint16_t n_pkts;
	struct rte_mbuf *free_batch[FREE_BATCH_MAX];
	struct burst esp;     // ESP for us
	struct burst transit; // to go through, out of an SA or as it came in by a port
	struct flow_pkt flow_pkt[RX_BURST_MAX]; // of transit
	struct burst protect;                   // to go out through an SA
	struct burst forward;                   // to go on in clear
	struct burst local;                     // for the gateway itself
	struct burst frag_pending[FRAG_STAGES]; // to be cut when there is room for the fragments
	struct burst own;                       // answers and errors made in this pass
	// Packets for SAs whose ESP packets will be too large for the way and have to be cut.
	uint16_t n_large;
	uint16_t n_udp;         // packets that came in as ESP in UDP
	union flow_deciders by; // of the packet that is evaluated
	bool natt;              // whether any SA uses UDP encapsulation

	// The first FRAGMENTS_MAX are places for fragments, used again and again; the others are
	// taken in turn, up to n_pkts.
	struct pkt pkt[PKTS_MAX] __rte_cache_aligned;

	// From pass to pass.
	struct counters counters;
	struct sa_audit audit;              // of packets without an SA
	uint32_t posted[SHARES][PORTS_MAX]; // events of a port's share, ever
	struct stages stages;
	struct neigh_hints neigh_hints;
	uint64_t n_handed;    // packets that others have been given, less those taken over. Wraps
	uint32_t fragment_id; // last identification taken, for IPv6
	uint64_t replay_sample_next; // TSC, see replay_reason()
	uint64_t next_tick;
	uint32_t dummies_next; // SA to look at, as an index that goes on and on
	// About what came in clear, by port.
	struct rate_bucket errors[PORTS_MAX], echoes[PORTS_MAX];
	uint32_t n_held;
	struct held *held;
	struct frag_table fragments[REASSEMBLY_SIDES]; // received, of incomplete datagrams
	struct tx_buffer tx[PORTS_MAX];                // emptied by the caller after each pass
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
	uint32_t errors_per_second, echoes_per_second;
	uint32_t held_max;
	uint32_t reassembly_max; // packet buffers of fragments that may wait on each side
	uint32_t reassembly_s;   // seconds they wait at most
};

// Control thread. Makes a worker; what the parameters point at stays the caller's. Returns NULL
// with errno ENOMEM.
struct worker *worker_new(const struct worker_params *p);

// Changes how many ICMP errors and echo replies may be sent in a second. Control thread.
void worker_limits_set(struct worker *w, uint32_t errors, uint32_t echoes);

// Has workers hand over to each other, before they run. Control thread.
void worker_peers_set(struct worker *w, struct worker *const peers[], unsigned int n);

// Whom to ask when the buffer of a port is full in the middle of a pass. Without, it is left so and
// what is for the port is dropped. Control thread, before the worker runs.
void worker_sender_set(struct worker *w, worker_send_fn send, void *sender);

// Packets that wait for something, to be taken over from other workers too. Any thread.
uint64_t worker_held(const struct worker *w);

// Frees what it still holds, packets included. NULL is fine.
void worker_free(struct worker *w);

// Gives back the buffer of a packet that has been counted otherwise, at the end of the pass.
void worker_release(struct worker *w, struct rte_mbuf *m);

// Tells the control thread what is told again when it matters: only while there is room for more
// important things as well.
void worker_event_post(struct worker *w, struct event *e);

// Posts an event that strangers can cause on e->port. Lost if the port has used up its part of the
// share: a flood by one port displaces neither events of other ports and shares nor those of
// worker_event_post().
void worker_event_post_share(struct worker *w, struct event *e, enum event_share share);

// Takes the oldest event; false: there is none. Control thread.
bool worker_event_dequeue(struct worker *w, struct event *e);

// Whether the bucket, which fills at the rate and holds one second's worth, has a token. There is
// one for each port and each SA: a flood by one leaves the others theirs.
bool worker_has_token(const struct worker *w, struct rate_bucket *b, uint32_t rate);

// Frees the dead of the pass.
void worker_mbufs_free(struct worker *w);

// Adds a packet to a burst that has room for everything a pass can bring it.
static inline void burst_add(struct burst *b, struct pkt *p)
{
	b->p[b->n++] = p;
}

// A place for another packet of this pass.
static inline struct pkt *pkt_new(struct worker *w)
{
	return &w->pkt[w->n_pkts++];
}
