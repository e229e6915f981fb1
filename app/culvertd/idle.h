// SPDX-License-Identifier: BSD-3-Clause
// Waiting of a worker without packets: it polls again at once, waits within the processor, sleeps
// for moments, or until an interrupt of a port (docs/decisions/0022-idle-workers.md). No wait is
// longer than a millisecond: time brings work as well.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_epoll.h>

#include "conf.h"

struct idle {
	enum conf_idle way;
	uint32_t patience; // empty rounds before it
	uint64_t pause;    // TSC that a wait within the processor takes
	bool umwait;       // the processor has an instruction for that
	// Of interrupts: descriptor that the worker waits for, -1: none.
	int epoll, wake;
	struct rte_epoll_event woken;
	atomic_bool waits; // written by the worker
};

// Chooses the method. With interrupts the worker's queues have to be added. Control thread, before
// the worker runs. Returns 0 or a negative number.
int idle_init(struct idle *idle, enum conf_idle way);
void idle_fini(struct idle *idle);

// Lets a queue wake the worker, once its interrupt is enabled. Returns 0 or a negative number: the
// device cannot. Control thread, while the worker does not use the device.
int idle_queue_add(struct idle *idle, uint16_t ethdev, uint16_t queue);

// With interrupts: from now on idle_wake() wakes the worker. It has to check once more for earlier
// work, in queues as well.
void idle_announce(struct idle *idle);
void idle_renounce(struct idle *idle);

// Waits by the chosen method. rounds: the number of empty ones in succession. The worker.
void idle_wait(struct idle *idle, unsigned int rounds);

// Whether waiting gives the CPU away.
static inline bool idle_sleeps(const struct idle *idle)
{
	return idle->way == CONF_IDLE_SLEEP || idle->way == CONF_IDLE_INTERRUPT;
}

// To be called after the worker was given something, which it may be asleep to. Any thread.
void idle_wake(struct idle *idle);
