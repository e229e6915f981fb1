// SPDX-License-Identifier: BSD-3-Clause
// A record of a flow (flow_record.h) as IPFIX has it: addresses as received and as sent,
// interfaces, tunnels and policies by name, times of the wall clock. Control thread, with the
// gateway's lock.
#pragma once

#include "control.h"
#include "flow_record.h"
#include "ipfix.h"

// Names of policies by number, as far as records have shown them: a number may belong to another
// policy when the record of a flow that it decided about is made.
struct flow_names;

// NULL: there is no memory. Freed with free(3).
struct flow_names *flow_names_new(void);

// Describes the record at the time now_ms, which is wall_ms by the wall clock: packets of the end
// that began, then those of the other end; neither without packets. Returns how many. The policy is
// empty if none decided, or it is not known any more.
unsigned int flow_describe(struct ipfix_flow out[2], const struct control *c,
	struct flow_names *names, const struct flow_record *r, uint32_t now_ms, uint64_t wall_ms);

// The name of an interface of such a description that has not been asked for since the last call of
// flow_names_forget(); NULL: it has been, or is not known.
const char *flow_names_interface(
	struct flow_names *names, const struct control *c, uint32_t interface);
void flow_names_forget(struct flow_names *names);
