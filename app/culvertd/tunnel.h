// SPDX-License-Identifier: BSD-3-Clause
// The tunnels: policies that protect, with the SAs that they send and receive by. Looks at what the
// SAs have counted, and posts an event when the state of a tunnel changes (tunnel_life.h). State
// stays with the name of the policy, whatever SAs it has. Where the configuration asks for that, it
// pings an address behind the peer (RFC 792, RFC 4443 4) while nothing is received. Control thread;
// telemetry reads, with the gateway's lock.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tunnel_life.h"

struct gateway;
struct snapshot;

struct tunnel {
	uint32_t policy;   // its number
	bool posts;        // events: one of the policies with the same outbound SA does
	uint64_t sent;     // packets, up to the last look
	uint64_t probes;   // sent
	uint64_t probe_ms; // when the last was; 0: none was
	struct tunnel_life life;
};

struct tunnels {
	struct tunnel *item; // in order of policies
	unsigned int n;
	unsigned int next; // is looked at next
};

// The tunnels of a snapshot, about which nothing is known yet. False if there is no memory.
bool tunnels_new(struct tunnels *t, const struct snapshot *s);

void tunnels_free(struct tunnels *t);

// Puts those of g->snapshot in the place of those of the snapshot before (NULL: there was none),
// whose state goes on.
void tunnels_set(struct gateway *g, struct tunnels *t, const struct snapshot *before);

// Looks. Call it every 100 ms, behind expiry_tick(), with the gateway's lock.
void tunnels_tick(struct gateway *g, uint64_t now_ms);
