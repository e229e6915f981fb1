// SPDX-License-Identifier: BSD-3-Clause
// Records of translated flows that are to be logged: one when a flow begins, one when it ends. Each
// worker has a ring of its own and never waits: a record that finds it full is lost, and counted.
// Where one worker ends a flow of another, either record may be read first: both have a number that
// no other flow gets until a worker has begun 2^32, divided by the number of workers.
#pragma once

#include "flow.h"

#define FLOW_BINDINGS 16384 // records in a ring, a power of two

struct flow_binding {
	struct ip_ends from, to; // of packets of the first key, as received and as sent
	uint32_t at_ms;          // of the workers' clock
	uint32_t number;         // the same at the begin and at the end
	uint8_t proto;
	bool ended;
};

// Makes the rings. Before workers run. Returns 0 or -ENOMEM.
int flow_bindings_new(struct flow_table *t);

// Takes the oldest record of a worker. False: there is none. One thread.
bool flow_binding_next(struct flow_table *t, unsigned int worker, struct flow_binding *b);
