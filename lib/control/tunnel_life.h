// SPDX-License-Identifier: BSD-3-Clause
// Whether a tunnel works, as far as its packets show: packets that pass the integrity check come
// from the peer alone. Without I/O or a clock of its own. Control thread. Times are in milliseconds
// and never 0.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "drop.h"

enum tunnel_state {
	TUNNEL_NEVER,   // nothing has been received yet
	TUNNEL_UP,      // packets were answered, or none were sent for long enough to know
	TUNNEL_SILENT,  // packets have been sent for TUNNEL_PATIENCE_MS, and nothing was received
	TUNNEL_FAILING, // for as long, its SAs have dropped every packet of one direction
	TUNNEL_STOPPED, // the outbound SA has reached a hard lifetime, or its last sequence number
	TUNNEL_DOWN,    // routes lead into it, and it takes no packets
	TUNNEL_STANDBY, // its local address is of a group that another gateway answers for
	TUNNEL_STATES
};

// Why a tunnel that routes lead into takes no packets.
enum tunnel_down {
	TUNNEL_NOT_DOWN,
	TUNNEL_DOWN_ORDER,   // an operator has taken it down
	TUNNEL_DOWN_NO_SA,   // IKE has no SA for it
	TUNNEL_DOWN_STOPPED, // as TUNNEL_STOPPED
	TUNNEL_DOWN_PEER,    // the endpoint of the peer is not known
	TUNNEL_DOWN_LINK,    // of the port that leads to the peer
	TUNNEL_DOWN_PROBE,   // probes are not answered
	TUNNEL_DOWNS
};

extern const char *const tunnel_down_names[TUNNEL_DOWNS];

extern const char *const tunnel_state_names[TUNNEL_STATES];

#define TUNNEL_PATIENCE_MS 10000

struct tunnel_life {
	enum tunnel_state state; // one of the first three
	uint64_t received_ms;    // last packet; 0: none
	uint64_t sent_ms;        // last packet; 0: none
	uint64_t unanswered_ms;  // first packet since the last that was received; 0: none
};

// Packets that the SAs of one direction of a tunnel have passed and dropped since they exist.
struct tunnel_counts {
	uint64_t passed;
	uint64_t drops[DROP_OF_SA_COUNT]; // by drop_info[].of_sa
};

// Whether these SAs drop everything.
struct tunnel_drops {
	struct tunnel_counts counts; // up to the last check
	uint64_t since_ms;           // first drop since the last packet that passed; 0: none
	uint64_t last_ms;            // last drop
	enum drop reason;            // of most drops in the last check that found any
};

struct tunnel {
	uint32_t policy;         // its number
	bool posts;              // events: one of the policies with the same outbound SA does
	uint64_t sent;           // packets, up to the last check
	uint64_t since_ms;       // packets up to then were received before there was the tunnel
	uint64_t probes;         // sent
	uint64_t probe_ms;       // when the last was; 0: none was
	enum tunnel_state state; // that of life, or one of those after it
	enum tunnel_down down;   // of a tunnel that routes lead into
	bool ordered_down;
	// When IKE is asked for an SA again, and how long after that; 0: it was not asked since
	// there was one.
	uint64_t ask_ms;
	uint32_t ask_again_ms;
	struct tunnel_life life;
	enum drop reason;             // for which it is failing; DROP_NONE: it is not
	struct tunnel_drops drops[2]; // by enum sa_direction
	uint64_t drops_ms;            // when they were last checked
};

struct tunnels {
	struct tunnel *item; // in order of policies
	unsigned int n;
	unsigned int next;    // is checked next
	unsigned int dummies; // that this tick may still send: peer_takeover.h
};

// Records events since the last call: received_ms is when a packet was last received (0: never),
// sent whether packets were sent. The tunnel is silent after packets were sent for patience_ms
// without an answer, with no gap longer than that. Call it every 100 ms or so.
void tunnel_life_note(struct tunnel_life *l, bool sent, uint64_t received_ms, uint32_t patience_ms,
	uint64_t now_ms);

// Records the counters of the SAs. Only growth counts: SAs may have been replaced. Call it every
// second or so.
void tunnel_drops_note(struct tunnel_drops *d, const struct tunnel_counts *counts,
	uint32_t patience_ms, uint64_t now_ms);

// Whether nothing has passed while packets were dropped for patience_ms, with no gap longer than
// that. The next packet that passes ends it.
bool tunnel_drops_all(const struct tunnel_drops *d, uint32_t patience_ms);
