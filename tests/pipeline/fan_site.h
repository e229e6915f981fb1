// SPDX-License-Identifier: BSD-3-Clause
// Gateway A of site.h with workers that share the work of its tunnels, which a test runs in any
// order, and flows through the tunnel of A and B. Packets that the workers send are checked: those
// of a flow are in order, ESP packets have consecutive numbers.
#pragma once

#include "peer.h"
#include "site.h"

#define FLOWS     12
#define WORKERS   HARNESS_WORKERS
#define SITE(...) ((struct site){.more = "cpus = { workers = [ 0, 1, 2, 3 ]; };", __VA_ARGS__})

struct workers {
	struct gateway *g[WORKERS];
	struct worker *w[WORKERS];
	struct peer b; // sends into the tunnel
	struct peer to_b;
	uint64_t seed;
	uint32_t number[FLOWS]; // packets of the flow sent to the gateway,
	uint32_t last[FLOWS];   // the last one that it sent
	uint32_t seq, sent_seq; // the same of ESP packets
	uint32_t n_sent;
};

// They do not share the work of tunnels yet. Freeing them drops packets in flight.
struct workers workers_new(struct site site, uint64_t seed);
void workers_free(struct workers *s);

// The next packet of a flow, into the tunnel or out of it.
struct ipv4 packet_of(struct workers *s, uint32_t flow, bool out);

// Frames of a burst, of flows into the tunnel or out of it.
unsigned int burst(struct workers *s, struct frame f[], bool out);

// One of the workers, by chance.
struct gateway *any(struct workers *s);

// Packets that a worker has just sent, in the order of all workers.
void check_sent(struct workers *s, const struct gateway *g);

// One step of one worker.
void step(struct workers *s);

// Whether something is in flight, but for packets that are held.
bool pending(const struct workers *s);

// Everything that is in flight leaves.
void settle(struct workers *s);

// Packets that all workers have dropped, for this reason; for any.
uint64_t dropped(const struct workers *s, enum drop reason);
uint64_t dropped_all(const struct workers *s);
