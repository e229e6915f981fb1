// SPDX-License-Identifier: BSD-3-Clause
// A member of a pair that was frozen (stopped, suspended, on a machine that did not run) must
// notice before it sends: the other one may have taken over. In each of its rounds the control
// thread sets workers a deadline ahead of now, and a worker compares it with the TSC at the begin
// of each pass. Past it, the worker neither receives nor sends until the control thread has noticed
// as well, has made the groups standby, and all workers have dropped the packets that they held: so
// packets that were sealed, or handed over, before are not sent either. A pass in which the worker
// was frozen continues to its end: at most the rest of one burst is sent.
//
// A TSC that stops while the machine is suspended hides that from workers: they run until the
// control thread has noticed by another clock, some milliseconds.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "crypto.h"

// Of a worker.
struct deadline {
	_Atomic uint64_t until; // TSC, UINT64_MAX: none; written by the control thread
	// The number of its last order to workers that are late: an even one, to wait; an odd one,
	// to drop all that they hold. And the order that this one has carried out.
	_Atomic uint64_t order, done;
};

// Worker. Whether it may not begin a pass at that TSC. All that was written before the deadline
// was set is seen by the pass.
static inline bool deadline_is_past(const struct deadline *d, uint64_t tsc)
{
	return tsc >= atomic_load_explicit(&d->until, memory_order_acquire);
}

// A worker that is late, between passes, carries out the present order. drop: drops all that the
// worker and its rings hold; it may be called again.
void deadline_obey(struct deadline *d, void (*drop)(void *arg), void *arg);

// Of all workers. The control thread's, as everything below.
struct deadlines {
	struct deadline *of[CRYPTO_WORKERS_MAX];
	unsigned int n;
	uint64_t ran_ms, boot_ms; // of both clocks when it last showed that it runs; 0: not yet
	uint64_t frozen_ms;       // it was, which is still to be handled; 0: it was not
	bool held;                // workers may not run
	uint64_t order;           // the last one to them
};

struct deadline_clock {
	uint64_t ms;         // of the TSC
	uint64_t tsc_per_ms; // cycles
	uint64_t boot_ms;    // of a clock that runs while the machine is suspended
};

// The consequences of a freeze.
struct deadline_freeze {
	void (*begin)(void *arg, uint64_t ms); // its length; workers do not run
	// Whether workers that begin a pass from now on see all consequences. It is called again
	// and again until that is so.
	bool (*in_effect)(void *arg);
};

// The control thread runs, and workers may for another limit_ms; 0: there is no deadline. But if
// the last such call was longer ago than that, workers are held from now on, and the next round
// handles the freeze. Call it in the middle of long work.
void deadlines_renew(struct deadlines *all, const struct deadline_clock *now, uint32_t limit_ms);

// The same at the begin of a round, before anything else is done. After a freeze it calls begin,
// and in later rounds, when workers have carried out their orders and in_effect is true, lets them
// run.
void deadlines_round(struct deadlines *all, const struct deadline_clock *now, uint32_t limit_ms,
	const struct deadline_freeze *freeze, void *arg);
