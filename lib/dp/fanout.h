// SPDX-License-Identifier: BSD-3-Clause
// One tunnel on all workers. A worker that receives ESP packets only puts them into a lane, burst
// by burst; any worker opens a burst, and the receiver takes the bursts out in the order of their
// arrival: only then sequence numbers enter the replay window, and the packets out of the tunnel go
// to the workers that their flows belong to. Packets for a tunnel go to the one worker that
// allocates its sequence numbers, which puts them into another lane; any worker seals a burst, and
// they leave in the order of their numbers. So packets of a flow, and ESP packets on the wire, stay
// in order, whatever the workers' speed, and no lock is taken. Workers.
#pragma once

#include "lane.h"
#include "worker.h"

#define FAN_WORKERS_MAX CRYPTO_WORKERS_MAX

#define FAN_MOVED_MAX 8 // peers of a burst

// A burst in a lane: received, and then opened; or to be sealed, and then sent.
struct fan_burst {
	uint16_t n, n_frames;
	bool large;                           // to be sealed: ESP packets may have to be fragmented
	struct rte_mbuf *frame[RX_BURST_MAX]; // received, or sealed, to be sent
	uint16_t port[RX_BURST_MAX];          // by these ports
	struct rte_mbuf *pkt[RX_BURST_MAX];   // n that were opened, or are to be sealed
	uint64_t seq[RX_BURST_MAX];           // by order of arrival, or of sending
	// Opened packets in order of arrival: the place in pkt, and the reason to drop the packet.
	uint8_t at[RX_BURST_MAX], reason[RX_BURST_MAX];
	// The index of the first packet for each worker; then of those to be dropped.
	uint8_t first[FAN_WORKERS_MAX + 1];
	// The newest packet of each SA whose peer has moved. Events are posted for packets that the
	// replay window accepts, so not for copies from elsewhere.
	uint8_t n_moved;
	struct fan_moved {
		const struct rte_mbuf *m;
		const struct sa_in *sa;
		uint64_t seq;
		struct event event;
	} moved[FAN_MOVED_MAX];
};

struct fanout {
	// More packets wait for sequence numbers than this worker soon gives them. Written by it
	// alone, only when that changes; the others receive nothing then.
	_Atomic bool is_behind __rte_cache_aligned;
	struct lane open, seal;
	struct fan_burst opening[LANE_BURSTS], sealing[LANE_BURSTS];
};

// Makes all n workers, whose peers are set, share the work of tunnels. Before they run. Control
// thread. Returns 0 or -ENOMEM.
int fanout_start(struct worker *const workers[], unsigned int n);

// Whether a worker has a backlog of tunnels: packets received now would be dropped after most of
// their work was done.
bool fanout_is_behind(const struct worker *w);

// Whether the worker can take another burst of received frames.
static inline bool fanout_has_room(const struct worker *w)
{
	return lane_open(&w->fanout->open) != LANE_NONE && !fanout_is_behind(w);
}

// Updates is_behind of this worker.
void fanout_update(struct worker *w);

// Takes the ESP packets of inbound SAs out of n received frames, at most RX_BURST_MAX, into the
// lane, which has room. Returns how many are left.
uint16_t fanout_receive(struct worker *w, struct rte_mbuf *m[], uint16_t n);

// Whether the other workers may soon have done all that this one has given them, so that it
// receives another burst before it does anything else. n: bursts received since it did.
bool fanout_is_short(const struct worker *w, unsigned int n);

// Places for n items, those of one owner next to each other and in their order: first[o] is the
// first place of owner o of n_owners.
void fanout_group(
	uint8_t place[], uint8_t first[], const uint8_t owner[], uint16_t n, unsigned int n_owners);

// Hands frames over to the workers that their flows belong to. Returns how many are left, which are
// this worker's.
uint16_t fanout_spread(struct worker *w, struct rte_mbuf *m[], uint16_t n);

// Both; spread: whether flows of the port are spread over workers. ESP packets that have to be held
// (hold.h), or to wait for held ones, stay with this worker, which opens them itself.
uint16_t fanout_distribute(struct worker *w, struct rte_mbuf *m[], uint16_t n, bool spread);

// Has other workers woken when more bursts are in a lane of this worker than it processes itself at
// once.
void fanout_call(struct worker *w, const struct lane *l);

// Drops the packets in the lanes, when all workers have ended, or wait past a deadline.
void fanout_stop(struct worker *w);

// Whether there is something in this worker's lanes or for it to number; and whether there is a
// burst in any worker's lanes.
bool fanout_pending(const struct worker *w);
bool fanout_can_help(const struct worker *w);
