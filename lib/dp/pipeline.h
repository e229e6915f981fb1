// SPDX-License-Identifier: BSD-3-Clause
// One pass: what a worker does with a burst of frames, from the port to the port. The order of the
// stages stands here and nowhere else. Workers.
#pragma once

#include "worker.h"

// Takes n frames (at most RX_BURST_MAX, possibly 0), m->port saying where each came in, and leaves
// what is to be sent in w->tx. Owns the frames. now is the TSC.
void pipeline_pass(struct worker *w, struct rte_mbuf *const m[], uint16_t n, uint64_t now);

// When the worker stops: drops what it still holds, as DROP_SHUTDOWN.
void pipeline_stop(struct worker *w);
