// SPDX-License-Identifier: BSD-3-Clause
// Tracing: the steps of the next packets that match a filter. A worker collects the steps of every
// packet of a pass; at its end those of packets that have matched go to a log, which another thread
// reads while workers write. Neither ever waits. Of packets only headers are kept, of SAs only
// names. The packet path fills the steps: lib/dp/tracepoint.h.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace_filter.h"

#define TRACE_PACKETS_MAX 1000
#define TRACE_STEPS_MAX   10000 // of one trace; further ones are only counted
#define TRACE_PASS_MAX    4096  // steps of one worker's pass; the same

struct trace;

// Control thread; telemetry reads under the gateway's mutex.

// Memory for traces of n workers, of at most that many packets in a pass (less than TRACE_LOGGED).
// Returns NULL with errno ENOMEM.
struct trace *trace_new(unsigned int n_workers, uint32_t packets_max);

// Call when no worker uses it any more. NULL is allowed.
void trace_free(struct trace *t);

// Begins a trace of packets, 1 to TRACE_PACKETS_MAX, and removes the one before. No worker may use
// t: call before it is published, or a grace period after it was withdrawn (QSBR).
void trace_begin(struct trace *t, const struct trace_filter *filter, uint32_t packets);

// Packets traced so far, and whether there is nothing more to come.
uint32_t trace_packets(const struct trace *t);
bool trace_done(const struct trace *t);

// Steps for which the log or a pass had no room.
uint32_t trace_lost(const struct trace *t);

// Step number i of the log, from 0, or NULL if it is not there (yet). A packet's steps follow on
// each other, but for those after it was held, or by another worker.
const struct trace_step *trace_step_at(const struct trace *t, uint32_t i);

// Workers, each with its own number

// In the number of a packet: it is one of the log. Without, it is one of this pass, from 1.
#define TRACE_LOGGED 0x8000u

// Starts a pass. True: it is the first of this trace, so that numbers of earlier packets are void.
bool trace_pass_start(struct trace *t, unsigned int worker);

// Returns the number of another packet of the pass; 0: it is not traced.
uint16_t trace_packet_add(struct trace *t, unsigned int worker);

// Adds a step of the packet with the number id, which is not 0.
void trace_step_add(
	struct trace *t, unsigned int worker, uint16_t id, const struct trace_step *step);

// Logs the packets of the pass that have matched; from then on trace_packet_after() returns the
// number of each for later passes, 0 if it is not traced any further.
void trace_pass_log(struct trace *t, unsigned int worker);
uint16_t trace_packet_after(const struct trace *t, unsigned int worker, uint16_t id);

// Another worker continues the packet with the number id: logs its steps so far, if it has matched.
// Returns the number by which it continues, which trace_packet_take() is given there with *trace,
// the number of the trace, and *keys, those of the filter that have held.
uint16_t trace_packet_hand(
	struct trace *t, unsigned int worker, uint16_t id, uint32_t *trace, uint8_t *keys);

// Continues a packet of another worker. Returns its number; 0: it is not traced.
uint16_t trace_packet_take(
	struct trace *t, unsigned int worker, uint16_t id, uint32_t trace, uint8_t keys);

// The same by a worker that does not trace yet: no further steps of the packet are logged.
void trace_packet_abandon(struct trace *t, uint16_t id, uint32_t trace);

// Ends the pass: this worker holds that many packets of the log.
void trace_pass_finish(struct trace *t, unsigned int worker, uint32_t held);
