// SPDX-License-Identifier: BSD-3-Clause
// The tunnels, one for each policy with action protect, with its SAs. Checks the counters of the
// SAs, and posts an event when the state of a tunnel changes (tunnel_life.h). State stays with the
// name of the policy, whatever its SAs. If the configuration asks for probes, pings an address at
// the peer's site (RFC 792, RFC 4443 4) while nothing is received. Control thread; telemetry reads,
// with the gateway's lock.
#pragma once

#include "control.h"

// The tunnels of a snapshot, about which nothing is known yet. False if there is no memory.
bool tunnels_new(struct tunnels *t, const struct snapshot *s);

void tunnels_free(struct tunnels *t);

// Takes the tunnels of a snapshot that is about to be linked and published, which continue the
// state of those of the snapshot before; NULL: there was none. Sets the SAs of IKE of tunnels.
void tunnels_set(struct control *c, struct tunnels *t, const struct snapshot *s,
	const struct snapshot *before);

// After a configuration was replaced: tunnels that were down and have another number now are down.
void tunnels_keep_down(struct control *c, uint64_t now_ms);

// Call it every 100 ms, after expiry_tick(), with the gateway's lock.
void tunnels_tick(struct control *c, uint64_t now_ms);
