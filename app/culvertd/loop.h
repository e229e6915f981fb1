// SPDX-License-Identifier: BSD-3-Clause
// The loop on a worker's lcore: polls its queues, runs the pipeline on the frames received, and
// transmits the results. Workers share rings, by which they hand over packets and, where a port has
// fewer TX queues than there are workers, frames to be sent; and lanes, by which all share the work
// of a tunnel (fanout.h).
#pragma once

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include <rte_rcu_qsbr.h>
#include <rte_ring.h>

#include "idle.h"
#include "port.h"
#include "worker.h"

#define LOOP_QUEUES_MAX 64
#define LOOP_NO_PORT    PORTS_MAX // of a queue whose port was removed: never open
#define LOOP_BURST      64        // frames taken from a queue at once
// Bursts are counted by size: 1, 2 to 3, 4 to 7, 8 to 15, 16 to 31, 32 to 63, 64.
#define LOOP_SIZES 7

enum loop_phase {
	LOOP_RUN,
	LOOP_DRAIN, // receive nothing from ports, process the packets in the rings
	LOOP_STOP,
};

// Where a worker is, in the low bits of its heartbeat: an RX queue's index, or one of these. The
// bits above change with every step.
#define LOOP_PLACE_MASK 0xffu
#define LOOP_AT_RINGS   0xfeu
#define LOOP_AT_REST    0xffu

struct loop_queue {
	// Gateway's number. Written by the control thread, also while the worker runs. The other
	// fields are those of this port when it is open.
	_Atomic uint16_t port;
	uint16_t queue;
	bool spread; // the port has fewer queues than there are workers: its flows are handed over
	bool has_inactive;    // members of the port that are not active may receive frames
	bool lacks_checksums; // of frames of senders on this machine: see rx_checksum.h
	// Written by the control thread, also while the worker runs: of a received frame those of
	// ol_flags that stay; and the VLANs of the device, NULL: all its frames are the port's.
	_Atomic uint64_t mbuf_flags;
	const struct vlan_map *_Atomic vlans;
	uint64_t bursts[LOOP_SIZES]; // written by the worker, read by the control thread
};

struct loop {
	// Constant while the worker runs. Other workers read the ring, and idle.waits when they
	// have handed something over.
	struct rte_ring *out; // frames to be sent by the port in m->port; from all threads
	struct worker *worker;
	struct rte_rcu_qsbr *qsbr;
	struct loop *const *peers; // all loops, by worker
	const struct port *ports;
	unsigned int n_workers;
	_Atomic unsigned int n_rx; // never fewer; written by the control thread
	uint16_t lacp[PORTS_MAX];  // ports whose LACP frames it sends
	unsigned int n_lacp;
	struct idle idle;

	struct loop_queue rx[LOOP_QUEUES_MAX] __rte_cache_aligned;

	uint32_t generation;        // of the snapshot that the worker has seen last; its own
	pid_t tid;                  // set by the worker when it begins
	_Atomic uint64_t heartbeat; // written by the worker: moves on with every step
	// TSC spent finding nothing to do, up to the last pass; and since when that has been so, 0
	// while there is something. Written by the worker, read by the control thread.
	uint64_t idle_cycles, idle_since;
	// TSC when the last pass began, 0 if the worker has slept since; and the longest from one
	// to the next. Written by the worker, read by the control thread.
	uint64_t last_pass, longest_round;
	// Frames that the devices of ports did not accept. Written by the worker, read by the
	// control thread.
	uint64_t refused[PORTS_MAX];
	_Atomic enum loop_phase reached; // written by the worker

	_Atomic enum loop_phase phase __rte_cache_aligned; // written by the control thread
};

static inline uint16_t loop_queue_port(const struct loop_queue *q)
{
	return atomic_load_explicit(&q->port, memory_order_relaxed);
}

static inline unsigned int loop_n_rx(const struct loop *l)
{
	return atomic_load_explicit(&l->n_rx, memory_order_acquire);
}

// Makes the loop of a worker, and takes ownership of the worker. Queues are added by
// loops_assign(). Returns NULL with errno ENOMEM.
struct loop *loop_new(struct worker *w);
void loop_free(struct loop *l);

// Distributes the ports' queues over n loops, whose workers' peers are set. They share the work of
// tunnels if a port has fewer queues than there are workers, or if the inbound SAs, without those
// of an IKE daemon, are too few to keep all workers busy. Returns 0, -E2BIG or -ENOMEM. Control
// thread, before they run.
int loops_assign(struct loop *const loops[], unsigned int n, const struct port ports[],
	unsigned int n_ports, unsigned int n_sas, struct rte_rcu_qsbr *qsbr);

// Chooses the waiting of loops with queues while these are empty. If a device does not support
// that, it is logged, and the worker sleeps for short times instead. Control thread, before they
// run.
void loops_idle(struct loop *const loops[], unsigned int n, enum conf_idle way);

// Gives the loops the queues of a port that was added, a queue to the one with the fewest. The port
// is closed, and no worker has been between two passes without seeing that. Control thread, while
// they run.
void loops_queues_assign(
	struct loop *const loops[], unsigned int n, const struct port ports[], uint16_t port);

// Whether there is room for that many queues more. Control thread.
bool loops_have_room(struct loop *const loops[], unsigned int n, unsigned int n_queues);

// Takes the queues of a port that is removed. It is closed, as above. Control thread, while they
// run.
void loop_queues_forget(struct loop *l, uint16_t port);

// How many queues the worker polls. Control thread.
unsigned int loop_queues(const struct loop *l);

// Prepares the worker for the device of a port, before the port is open; the opposite for one that
// is not open any more. Control thread.
void loop_queues_add(struct loop *l, uint16_t port);
void loop_queues_remove(struct loop *l, uint16_t port);

// Lets the worker look at the tags of ports that have got their first VLAN. Control thread, while
// the worker runs.
void loop_vlans_follow(struct loop *l);

// The body of the worker's thread; arg is a struct loop.
int loop_run(void *arg);

// Drops remaining packets, as DROP_SHUTDOWN. Control thread, when all workers have ended; or the
// worker, while no other begins a pass.
void loop_stop(struct loop *l);

// Lets a worker with a TX queue on the port send a frame, which it takes. False: there is no room,
// and the caller keeps the frame. Any thread.
bool loop_send(struct loop *l, uint16_t port, struct rte_mbuf *m);

// Packets in the rings to be sent, or held for their next hops. Frames in the rings to be processed
// count as not yet received. Any thread.
uint64_t loop_held(const struct loop *l);
