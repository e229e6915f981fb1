// SPDX-License-Identifier: BSD-3-Clause
// The measurement of a point. Each lane is a thread on its own CPU and repeats rounds; in each of
// them a new batch of packets is
//
//   received and sent                       ports
//   received, sealed or opened, and sent    ports + floor
//   received, passed, and sent              everything
//   the same by the daemon's loop           everything + daemon
//
// with the clock running, one after the other. The clock is stopped while batches are made, and
// sealed if they are to be opened.
#pragma once

#include <stdbool.h>

#include <rte_mempool.h>

#include "core.h"
#include "point.h"
#include "rounds.h"
#include "stage.h"

// TSC cycles per packet: the median of the rounds, and the quartiles.
struct figure {
	double q1, median, q3;
};

struct result {
	const char *engine;   // the engine of the SAs
	struct figure cycles; // everything
	struct figure ports;
	struct figure floor;
	struct figure overhead; // everything - ports - floor
	struct figure daemon;   // everything by the daemon's loop - everything; not of DIR_LOOP
	double mpps;            // rate of everything, ports included; the sum of all lanes
	double speedup;         // mpps, to that of one worker; 0: not known. The caller's
	uint64_t sent;          // packets given to the gateways while the clock runs
	uint64_t received;      // the sent ones of these, which are right if they are clear
	struct core core;       // medians of the rounds, the mean of all lanes
	bool same_core;         // some lanes are hyperthreads of the same core
	struct stages stages;   // drops of the gateway measured; of both if it is a loop
};

struct measure_params {
	struct rte_mempool *pool;
	unsigned int rounds; // 1 to ROUNDS_MAX
	bool stages;         // measure the stages in one pass of 16
};

// Runs on the main lcore, which is lane 0. Ends the program if a packet is wrong or missing before
// the measurement starts.
struct result measure(const struct point *p, const struct measure_params *params);
