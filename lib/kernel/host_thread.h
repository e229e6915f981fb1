// SPDX-License-Identifier: BSD-3-Clause
// The thread between the workers and the kernel's interfaces of hosts (host_iface.h): it writes
// punted packets, and hands packets of the kernel to the workers (lib/dp/host.h). A flood delays
// neither workers nor the control thread. Control thread, unless noted.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "control.h"

struct host_thread;

// Makes the interfaces of all hosts, before privileges are dropped; *h is NULL if there is none.
// Returns 0; -ENOMEM or -EIO after a message.
int host_thread_open(struct host_thread **h, struct control *c);

// Functions of the daemon for the thread.
struct host_thread_io {
	// Takes privileges from the calling thread that it must not have. Returns 0 or -errno.
	int (*confine)(void *arg);
	// Wakes a worker that has been given packets.
	void (*wake)(void *arg, unsigned int worker);
	void *arg;
};

// Connects the workers, before they run, and starts the thread, which first confines itself. h:
// NULL is allowed, here and below. Returns 0, or -errno after a message.
int host_thread_start(
	struct host_thread *h, const struct control *c, const struct host_thread_io *io);

// Makes, changes and removes interfaces as the configuration wants them now, also interfaces
// that somebody has deleted. Needs CAP_NET_ADMIN. The device thread, after the start.
void host_thread_change(struct host_thread *h);

// The link of a port has gone up or down.
void host_thread_link(struct host_thread *h, uint16_t port, bool up);

// Posts an event of each interface that somebody has deleted or that the kernel refuses, sets
// carriers, and renews c->hosts. Call every 100 ms or so, with the gateway's lock. Returns whether
// something is to be done by host_thread_change().
bool host_thread_tick(struct host_thread *h, struct control *c);

// Counters of the thread: packets that the kernel sent as originated, packets that it accepted as
// local. With the gateway's lock.
struct counters host_thread_counters(const struct host_thread *h);

// Packets in the rings to the kernel. Any thread.
uint64_t host_thread_held(const struct host_thread *h);

// Ends the thread, while workers still run.
void host_thread_stop(struct host_thread *h);

// Drops packets that workers have left for the kernel, when all have ended.
void host_thread_drop(struct host_thread *h);

// Removes the interfaces.
void host_thread_close(struct host_thread *h);
