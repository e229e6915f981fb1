// SPDX-License-Identifier: BSD-3-Clause
// One pass: a burst of frames, from receive queues to transmit buffers. The order of the stages is
// here and nowhere else. Workers.
#pragma once

#include "worker.h"

// Takes n frames (at most RX_BURST_MAX, possibly 0), m->port being the ingress port of each, and
// owns them. Packets to be sent are in w->tx afterwards. now is the TSC.
void pipeline_pass(struct worker *w, struct rte_mbuf *const m[], uint16_t n, uint64_t now);

// When the worker stops: drops the packets that it holds, as DROP_SHUTDOWN.
void pipeline_stop(struct worker *w);
