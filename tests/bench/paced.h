// SPDX-License-Identifier: BSD-3-Clause
// Packets with planned times of arrival, at even distances, and how long each of them is in a
// gateway. In memory that a gateway's program shares with tests/bench/latency, which has its other
// side and specifies what to do.
//
// Called by the workers of the gateway, each for its own queue. A worker that asks gets all packets
// planned until then, at most a burst of them. So no other thread has to bring them, and a packet
// also waits while the worker does something else, or does not run. When it is sent, the time since
// the planned one is counted. Times are in cycles of the TSC.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PACED_BURST 64

struct paced;

// Once, before all else: opens the memory that the environment names, or ends the program.
void paced_open(void);

// Tells the script the frequency of the TSC.
void paced_clock_tell(uint64_t tsc_hz);

// Worker i's queue, in static memory.
struct paced *paced_queue(unsigned int i);

// 0 or 1: the gateway's port that receives.
unsigned int paced_port(void);

// Whether the queue has received all packets of the last order.
bool paced_is_done(const struct paced *q);

// The frames due now, at most PACED_BURST, and the times that they were planned for. Returns their
// number. All are paced_len() long; they are the memory's own, and not to be changed.
uint16_t paced_receive(struct paced *q, uint64_t at[], const uint8_t *frame[], uint16_t n);
uint16_t paced_len(void);

// Counts a packet that is sent now.
void paced_sent(struct paced *q, uint64_t at, uint64_t now);

// Whether frames that are sent are to be kept, and keeps one.
bool paced_captures(const struct paced *q);
void paced_capture(const uint8_t *frame, uint16_t len);
