// SPDX-License-Identifier: BSD-3-Clause
// The inside of the thread of hosts, for its two files. host_thread_life.c makes interfaces, starts
// and ends the thread; host_thread_run.c runs in it.
#pragma once

#include <stdatomic.h>

#include "host_iface.h"
#include "host_thread.h"

#define FRAME_MAX (UINT16_MAX + RTE_ETHER_HDR_LEN)

enum host_state {
	NONE, // there is no interface
	SERVING,
	LOST,     // the thread has seen that somebody has deleted the interface
	REPORTED, // the control thread has posted that
	LEAVING,  // the thread is to use it no more
};

// A host. The thread alone writes its counters.
struct host {
	_Atomic int fd;
	_Atomic uint32_t since; // see struct snapshot, host_since; set before fd
	_Atomic enum host_state state;
	struct rte_ring *to;      // from all workers; stays
	unsigned int worker;      // that takes its packets
	uint64_t n_to, n_from;    // packets
	char name[CONF_NAME_MAX]; // of the interface
	atomic_bool up, carrier;  // of the port's link or the tunnel, and of the interface
	_Atomic uint16_t mtu;     // of the interface
	atomic_bool refused;      // the kernel has refused the interface, or an address
	// Then: calls of host_thread_tick() since the last try, and until the next one.
	unsigned int waited, patience;
};

struct host_thread {
	bool runs;
	struct host_thread_io io;
	struct control *control;
	unsigned int n_workers; // 0: not connected yet
	struct host host[HOSTS_MAX];
	struct rte_ring *from[CONF_WORKERS_MAX]; // by worker
	pthread_t thread;
	int epoll, event;     // an event for every wake
	_Atomic bool waiting; // or about to
	_Atomic bool stop;
	int confined; // of the thread: 0 or -errno, valid after ready
	_Atomic bool ready;
	struct counters counters; // the thread's
	uint8_t frame[FRAME_MAX];
};

// Unless another thread has changed it.
static inline void state_change(struct host *p, enum host_state from, enum host_state to)
{
	atomic_compare_exchange_strong(&p->state, &from, to);
}

static inline bool is_serving(const struct host *p)
{
	return atomic_load_explicit(&p->state, memory_order_acquire) == SERVING;
}

// The thread.
void *host_thread_run(void *thread);
