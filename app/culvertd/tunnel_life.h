// SPDX-License-Identifier: BSD-3-Clause
// Whether a tunnel works, as far as its packets show: packets that pass the integrity check come
// from the peer alone. Without I/O or a clock of its own, so that tests need no gateway. Control
// thread. Times are in milliseconds and never 0.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum tunnel_state {
	TUNNEL_NEVER,  // nothing has been received yet
	TUNNEL_UP,     // what was sent was answered, or nothing was sent for long enough to know
	TUNNEL_SILENT, // packets have been sent for TUNNEL_PATIENCE_MS, and nothing was received
	TUNNEL_STATES
};

extern const char *const tunnel_state_names[TUNNEL_STATES];

#define TUNNEL_PATIENCE_MS 10000

struct tunnel_life {
	enum tunnel_state state;
	uint64_t received_ms;   // last packet; 0: none
	uint64_t sent_ms;       // last packet; 0: none
	uint64_t unanswered_ms; // first packet since the last that was received; 0: none
};

// Notes what has happened since the last call: received_ms is when a packet was last received (0:
// never), sent whether packets were sent. patience_ms: for so long packets are sent without an
// answer before the tunnel is silent, with gaps that are no longer. Call it every 100 ms or so.
void tunnel_life_note(struct tunnel_life *l, bool sent, uint64_t received_ms, uint32_t patience_ms,
	uint64_t now_ms);
