// SPDX-License-Identifier: BSD-3-Clause
// One pass: a burst of frames, from receive queues to transmit buffers. The order of the stages is
// here and nowhere else. Workers.
#pragma once

#include "worker.h"

// Takes n frames (at most RX_BURST_MAX, possibly 0), m->port being the ingress port of each, and
// owns them. Packets to be sent are in w->tx afterwards. now is the TSC.
void pipeline_pass(struct worker *w, struct rte_mbuf *const m[], uint16_t n, uint64_t now);

// Where workers share the work of tunnels (fanout.h). Both need empty transmit buffers; the caller
// sends the packets put there.
//
// Processes one burst that any worker has put into a lane. False: there was none.
bool pipeline_help(struct worker *w, uint64_t now);

// Takes bursts out of the lanes of this worker as far as they were processed in turn, and numbers
// packets that were handed over to it. Returns the number of bursts.
unsigned int pipeline_keep(struct worker *w, uint64_t now);

// When the worker stops: drops the packets that it holds, as DROP_SHUTDOWN.
void pipeline_stop(struct worker *w);
