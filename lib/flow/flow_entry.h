// SPDX-License-Identifier: BSD-3-Clause
// An entry of the flow table: both directions of a flow, and the decisions made for each.
//
// A packet of an established flow reads one line of it, that of its direction, which has all that
// identifies an IPv4 flow, and TCP also line 0 with the windows. Line 0 has state and holder, too:
// all that the search for a flow to evict reads of one that is not established. Line 1 has the
// whole key. The line of a direction is written by the worker where that direction arrives, line 0
// by both, and only for TCP or when the state changes. Nothing is locked: the state is one word,
// changed by compare-and-swap, of which each direction has a copy; and everything else has one
// writer as long as a direction stays with its worker. Should packets of one direction arrive at
// two workers at once, counts may be lost, never more.
#pragma once

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>

#include "flow_pkt.h"

struct sa_out;
struct nexthop;

enum flow_state {
	FLOW_FREE, // not in use
#define FLOW_STATE(id, name, seconds, class) FLOW_##id,
#include "flow_state.def"
#undef FLOW_STATE
	FLOW_STATE_COUNT
};

enum flow_class { FLOW_CLASS_NEW, FLOW_CLASS_ESTABLISHED, FLOW_CLASS_CLOSING };

struct flow_state_info {
	const char *name;
	uint32_t timeout_s; // by default
	enum flow_class class;
};

// Indexed by enum flow_state; the entry of FLOW_FREE is empty.
extern const struct flow_state_info flow_state_info[FLOW_STATE_COUNT];

// The word of a flow: its state in the low octet, and facts.
#define FLOW_STATE_MASK 0x7fu
#define FLOW_LEARNING   (1u << 7)  // TCP of another gateway: its windows are being learnt
#define FLOW_INITIATOR  (1u << 8)  // the direction that began
#define FLOW_REPLIED    (1u << 9)  // the other direction has sent
#define FLOW_COUNTED    (1u << 10) // counts as not established
#define FLOW_PICKED_UP  (1u << 11) // was open already when it was first seen
#define FLOW_RESET      (1u << 12)
#define FLOW_REMOVED    (1u << 13) // out of the table
#define FLOW_OF_SOURCE  (1u << 14) // counts against the limit of its source while FLOW_COUNTED
#define FLOW_TRANSLATED (1u << 15) // has a second key: flow_nat.h
// Windows are not checked.
#define FLOW_UNCHECKED (FLOW_PICKED_UP | FLOW_LEARNING)
// Of TCP, by direction: its sequence numbers are known; it has acknowledged the other's; its FIN
// was seen; that FIN was acknowledged.
#define FLOW_SYN(dir)       (1u << (16 + (dir)))
#define FLOW_ACK(dir)       (1u << (18 + (dir)))
#define FLOW_FIN(dir)       (1u << (20 + (dir)))
#define FLOW_FIN_ACKED(dir) (1u << (22 + (dir)))
// In the copy of a direction alone: an ordinary packet of it leaves the word as it is; and the
// flow is not translated, or is.
#define FLOW_SETTLED            (1u << 15)
#define FLOW_SETTLED_TRANSLATED (1u << 14)
// Counts connections that reuse the entry, so that counts of one are not added to the next.
#define FLOW_LIFE      (1u << 24)
#define FLOW_LIFE_MASK 0xff000000u

// The policies and the rule that decided about the packets of a direction, as numbers from 1 on; 0:
// none. Set and read by the datapath alone.
union flow_deciders {
	struct {
		uint16_t in, out, rule;
		uint16_t unused; // 0
	};
	uint64_t all;
};

#define FLOW_DECIDERS_MASK UINT64_C(0x0000ffffffffffff)
#define FLOW_SHOWN_SHIFT   48 // of the copy of the flow's word, above the deciders

static_assert(offsetof(union flow_deciders, unused) == FLOW_SHOWN_SHIFT / 8 &&
		      RTE_BYTE_ORDER == RTE_LITTLE_ENDIAN,
	"the copy of the word in the place of what is not used");

struct flow_dir {
	struct flow_brief key; // of packets of this direction
	// The decision's generation of the snapshot, plus FLOW_WRITTEN times the number of its
	// changes.
	_Atomic uint64_t mark;
	// union flow_deciders, and above it the lower half of the flow's word, as flow_word_show()
	// has copied it, with FLOW_SETTLED.
	_Atomic uint64_t by;
	_Atomic uint64_t egress;  // of the decision
	_Atomic uint32_t ingress; // of the decision
	_Atomic uint32_t seen;    // when the last packet came, ms
	_Atomic uint64_t packets;
	_Atomic uint64_t octets; // of IP packets
};

static_assert(sizeof(struct flow_dir) == 64, "one cache line");

// TCP state of one direction.
struct flow_tcp {
	_Atomic uint32_t end;        // highest sequence number sent + 1
	_Atomic uint32_t edge;       // right edge of the widest window that was offered
	_Atomic uint32_t max_ack;    // highest acknowledgement sent
	_Atomic uint32_t max_window; // widest window offered, scaled
};

// A SYN of an open connection: let pass, because it may be the truth.
struct flow_syn {
	_Atomic uint32_t end; // the number that acknowledges it
	_Atomic uint16_t window;
	_Atomic uint8_t scale;
	_Atomic bool valid;
};

// Entries that are not in use move between workers and the pool in chains of this length.
#define FLOW_CHAIN 32

struct flow {
	_Atomic uint32_t word;
	uint32_t hash;            // of the key
	uint32_t holder;          // that has it: flow_holder.h
	_Atomic uint32_t created; // ms
	struct flow_tcp tcp[2];   // by direction
	_Atomic uint8_t scale[2]; // shift of the direction's windows
	uint8_t reported;         // of the control thread: flow_scan.h
	_Atomic uint32_t isn[2];  // initial sequence numbers
	union {
		_Atomic uint32_t next_chain; // of a chain's first entry
		_Atomic uint32_t repeated;   // of a live one: flow_adopt.h
	};
	// Rarely read.
	struct flow_key key __rte_cache_aligned; // of packets in the direction that began
	struct flow_syn syn[2];
	uint32_t next, ahead; // in a list of removed entries: the next one, and one farther on
	union {
		struct flow_dir dir[2] __rte_cache_aligned;
		uint32_t chain[FLOW_CHAIN]; // of a chain's first entry: numbers of all, its own
					    // first
	};
} __rte_aligned(256);

static_assert(sizeof(struct flow) == 256, "four cache lines, found from any of them");
static_assert(offsetof(struct flow, key) == 64, "not in what packets of IPv4 read");
static_assert(
	offsetof(struct flow, dir) == 128, "a line for each direction, that of 0 at an even place");

// The flow of a direction, and which of both that is.
static inline struct flow *flow_of_dir(struct flow_dir *own)
{
	return (struct flow *)RTE_PTR_ALIGN_FLOOR(own, sizeof(struct flow));
}

static inline unsigned int flow_dir_number(const struct flow_dir *own)
{
	return (uintptr_t)own / sizeof(*own) % 2;
}

// The flow of a packet whose direction is own. From then on p->dir is that of the flow.
static inline struct flow *flow_of_packet(struct flow_dir *own, struct flow_pkt *p)
{
	const unsigned int sender = p->dir ^ p->reversed;

	p->dir = (uint8_t)flow_dir_number(own);
	p->reversed = p->dir != sender;
	return flow_of_dir(own);
}

// Without a flow, or when that was removed: the packet has its own direction again.
static inline void flow_pkt_leave(struct flow_pkt *p)
{
	p->dir ^= p->reversed;
	p->reversed = false;
}

// Decision of the slow path for the packets of one direction.
struct flow_decision {
	union flow_deciders by;
	uint64_t egress;  // of flow_egress_clear(), flow_egress_protect() or flow_egress_route()
	uint32_t ingress; // number of the interface that they come by
	// Not of the decision, but read with it: as flow_word_shown().
	uint16_t shown;
	uint64_t mark; // read with it, too; for flow_insert() the generation
};

#define FLOW_DECIDING UINT32_MAX // generation of a decision that is being written
#define FLOW_WRITTEN  (UINT64_C(1) << 32)
// Of the egress. Without any of these it is a next hop of the snapshot.
#define FLOW_PROTECT 1u // where the SA of a policy is
#define FLOW_ROUTE   2u // a route that is remembered: place << 32 | number << FLOW_NUMBER_SHIFT
#define FLOW_TUNNEL  4u // and leads into the tunnel that is the policy decision.by.out

#define FLOW_HOPS (0xffu << FLOW_HOP_SHIFT) // place of the next hop in the route's group, from 1

#define FLOW_HOP_SHIFT    3
#define FLOW_NUMBER_SHIFT 11
#define FLOW_NUMBER_NONE  (UINT32_MAX >> FLOW_NUMBER_SHIFT) // no slot has it

// Packets that go in clear, to the next hop, which lives as long as the generation.
static inline uint64_t flow_egress_clear(const struct nexthop *nexthop)
{
	return (uintptr_t)nexthop;
}

// Packets protected by the SA that *out points at, where a rekey puts another one.
static inline uint64_t flow_egress_protect(struct sa_out *_Atomic const *out)
{
	return (uintptr_t)out + FLOW_PROTECT;
}

// Packets by a route that route_remember() has remembered; 0: each takes the slow path. hop: the
// place of the next hop among several, from 1 on; 0: there is one.
static inline uint64_t flow_egress_route(uint64_t route, uint8_t hop, bool into_tunnel)
{
	uint32_t number = route != 0 ? (uint32_t)route : FLOW_NUMBER_NONE;

	return (route & ~(uint64_t)UINT32_MAX) | number << FLOW_NUMBER_SHIFT |
	       (uint32_t)hop << FLOW_HOP_SHIFT | FLOW_ROUTE | (into_tunnel ? FLOW_TUNNEL : 0);
}

static inline uint32_t flow_egress_place(uint64_t egress)
{
	return (uint32_t)(egress >> 32);
}

static inline uint32_t flow_egress_number(uint64_t egress)
{
	return (uint32_t)egress >> FLOW_NUMBER_SHIFT;
}

static inline uint8_t flow_egress_hop(uint64_t egress)
{
	return (uint8_t)(egress >> FLOW_HOP_SHIFT);
}

// The next hop of packets that go in clear, not by a route of the table.
static inline const struct nexthop *flow_egress_nexthop(uint64_t egress)
{
	return (const struct nexthop *)(uintptr_t)egress;
}

// The SA that a policy sends the packets through; NULL: there is none, or they go by a route.
static inline struct sa_out *flow_egress_sa(uint64_t egress)
{
	if ((egress & FLOW_PROTECT) == 0)
		return NULL;
	return atomic_load_explicit(
		(struct sa_out * _Atomic const *)(uintptr_t)(egress - FLOW_PROTECT),
		memory_order_acquire);
}

// The SA that the packets of a decision are sent through; NULL: they go in clear. outs: where the
// SAs of policies are, by number.
static inline struct sa_out *flow_decision_sa(
	const struct flow_decision *d, struct sa_out *_Atomic const *outs)
{
	return (d->egress & FLOW_TUNNEL) != 0 && (d->egress & FLOW_ROUTE) != 0
		       ? atomic_load_explicit(&outs[d->by.out], memory_order_acquire)
		       : flow_egress_sa(d->egress);
}

static inline uint32_t flow_mark_generation(uint64_t mark)
{
	return (uint32_t)mark;
}

// The mark of the next write.
static inline uint64_t flow_mark_next(uint64_t mark, uint32_t generation)
{
	return ((mark + FLOW_WRITTEN) & ~(uint64_t)UINT32_MAX) | generation;
}

// Worker. Reads the decision for a direction. False if there is none of this generation (1 to
// UINT32_MAX - 1), or another worker has written it in the meantime, maybe for the same generation:
// the packet takes the slow path.
static inline bool flow_dir_decision_get(
	const struct flow_dir *fd, uint32_t generation, struct flow_decision *d)
{
	uint64_t mark = atomic_load_explicit(&fd->mark, memory_order_acquire), by;

	if (flow_mark_generation(mark) != generation)
		return false;
	// Acquire: the second read of the mark comes after the fields.
	by = atomic_load_explicit(&fd->by, memory_order_acquire);
	d->egress = atomic_load_explicit(&fd->egress, memory_order_acquire);
	d->ingress = atomic_load_explicit(&fd->ingress, memory_order_acquire);
	d->by.all = by & FLOW_DECIDERS_MASK;
	d->shown = (uint16_t)(by >> FLOW_SHOWN_SHIFT);
	d->mark = mark;
	return atomic_load_explicit(&fd->mark, memory_order_relaxed) == mark;
}

// The same, by the flow.
static inline bool flow_decision_get(
	const struct flow *f, unsigned int dir, uint32_t generation, struct flow_decision *d)
{
	return flow_dir_decision_get(&f->dir[dir], generation, d);
}

// The generation of the latest decision for the direction: 0 if there is none, or it was removed
// and can still be read, FLOW_DECIDING while it is written.
static inline uint32_t flow_decision_generation(const struct flow *f, unsigned int dir)
{
	return flow_mark_generation(atomic_load_explicit(&f->dir[dir].mark, memory_order_relaxed));
}

// The policy that admitted packets of the direction by the latest decision, of whatever generation.
static inline uint16_t flow_admitted_by(const struct flow *f, unsigned int dir)
{
	const union flow_deciders by = {
		.all = atomic_load_explicit(&f->dir[dir].by, memory_order_relaxed)};

	return by.in;
}

// Changes the bits of a mask in the fields that decision and copy of the word share.
static inline void flow_by_change(_Atomic uint64_t *by, uint64_t mask, uint64_t bits)
{
	uint64_t old = atomic_load_explicit(by, memory_order_seq_cst);

	while ((old & mask) != bits &&
		!atomic_compare_exchange_weak_explicit(
			by, &old, (old & ~mask) | bits, memory_order_seq_cst, memory_order_seq_cst))
		;
}

// Worker. Stores a decision in the place of that which was read with this mark, unless another
// worker has removed it, has stored another one, or is about to.
static inline void flow_decision_replace(struct flow *f, unsigned int dir, uint64_t old,
	uint32_t generation, const struct flow_decision *d)
{
	struct flow_dir *fd = &f->dir[dir];
	uint64_t deciding = flow_mark_next(old, FLOW_DECIDING);

	if (flow_mark_generation(old) == FLOW_DECIDING ||
		!atomic_compare_exchange_strong_explicit(
			&fd->mark, &old, deciding, memory_order_acquire, memory_order_relaxed))
		return;
	// Release: the fields are written after the mark.
	flow_by_change(&fd->by, FLOW_DECIDERS_MASK, d->by.all);
	atomic_store_explicit(&fd->egress, d->egress, memory_order_release);
	atomic_store_explicit(&fd->ingress, d->ingress, memory_order_release);
	if (!atomic_compare_exchange_strong_explicit(&fd->mark, &deciding,
		    flow_mark_next(deciding, generation), memory_order_release,
		    memory_order_relaxed)) // forgotten before it was there
		atomic_store_explicit(&fd->mark, flow_mark_next(deciding, 0), memory_order_release);
}

// Worker. Stores a decision, unless another worker is about to: each then goes by its own.
static inline void flow_decision_set(
	struct flow *f, unsigned int dir, uint32_t generation, const struct flow_decision *d)
{
	flow_decision_replace(f, dir, atomic_load_explicit(&f->dir[dir].mark, memory_order_relaxed),
		generation, d);
}

// Worker. Lets the decision that was read with this mark hold for another generation as well.
// False: another worker has removed or replaced it, or is about to.
static inline bool flow_decision_renew(
	struct flow *f, unsigned int dir, uint64_t mark, uint32_t generation)
{
	return atomic_compare_exchange_strong_explicit(&f->dir[dir].mark, &mark,
		flow_mark_next(mark, generation), memory_order_release, memory_order_relaxed);
}

// Worker. Removes the decision, also one that another worker is about to store. A worker that finds
// none decides by all that this one has seen.
static inline void flow_decision_forget(struct flow *f, unsigned int dir)
{
	_Atomic uint64_t *mark = &f->dir[dir].mark;
	uint64_t old = atomic_load_explicit(mark, memory_order_relaxed), next;

	do
		next = flow_mark_next(
			old, flow_mark_generation(old) == FLOW_DECIDING ? FLOW_DECIDING : 0);
	while (!atomic_compare_exchange_weak_explicit(
		mark, &old, next, memory_order_release, memory_order_relaxed));
}

static inline uint32_t flow_word(const struct flow *f)
{
	return atomic_load_explicit(&f->word, memory_order_acquire);
}

static inline enum flow_state flow_word_state(uint32_t word)
{
	return (enum flow_state)(word & FLOW_STATE_MASK);
}

// The direction that began.
static inline unsigned int flow_word_initiator(uint32_t word)
{
	return (word & FLOW_INITIATOR) != 0;
}

// Whether an ordinary packet of the direction leaves the word as it is. Of TCP that is one with
// neither SYN, FIN nor RST, in the window, of an open connection; of other protocols, only packets
// of the reply and the first ones after it change the word.
static inline bool flow_word_settled(uint32_t word, unsigned int dir)
{
	switch (flow_word_state(word)) {
	case FLOW_TCP_ESTABLISHED:
		return (word & FLOW_UNCHECKED) == 0;
	case FLOW_UDP_STREAM:
	case FLOW_ICMP_REPLIED:
	case FLOW_OTHER_REPLIED:
		return true;
	case FLOW_UDP_NEW:
	case FLOW_ICMP_NEW:
	case FLOW_OTHER_NEW:
		return dir == flow_word_initiator(word);
	default:
		return false;
	}
}

// The copy of a word for a direction: state, facts without TCP's, and whether it is settled. Not
// that the flow is out of the table, so that who removes it leaves the lines of its directions.
static inline uint16_t flow_word_copy(uint32_t word, unsigned int dir)
{
	const uint32_t settled =
		(word & FLOW_TRANSLATED) != 0 ? FLOW_SETTLED_TRANSLATED : FLOW_SETTLED;

	return (uint16_t)((word & ~(FLOW_REMOVED | FLOW_SETTLED | FLOW_SETTLED_TRANSLATED)) |
			  (flow_word_settled(word, dir) ? settled : 0));
}

// The word, for packets of a direction, as of its last copy.
static inline uint16_t flow_word_shown(const struct flow *f, unsigned int dir)
{
	return (uint16_t)(atomic_load_explicit(&f->dir[dir].by, memory_order_acquire) >>
			  FLOW_SHOWN_SHIFT);
}

// Worker. Copies the word for both directions, after changing it. Of several workers that do, the
// one whose copies are the last finds the last word.
static inline void flow_word_show(struct flow *f)
{
	uint32_t word, copied;

	do {
		copied = atomic_load_explicit(&f->word, memory_order_seq_cst);
		for (unsigned int dir = 0; dir < 2; dir++)
			flow_by_change(&f->dir[dir].by, ~FLOW_DECIDERS_MASK,
				(uint64_t)flow_word_copy(copied, dir) << FLOW_SHOWN_SHIFT);
		word = atomic_load_explicit(&f->word, memory_order_seq_cst);
	} while ((uint16_t)word != (uint16_t)copied);
}

static inline bool flow_word_live(uint32_t word)
{
	return (word & FLOW_STATE_MASK) != FLOW_FREE && (word & FLOW_REMOVED) == 0;
}
