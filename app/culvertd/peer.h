// SPDX-License-Identifier: BSD-3-Clause
// Peers of ESP in UDP (RFC 3948): follows those that move, because the mapping of a NAT has
// changed, and keeps mappings open. Control thread.
#pragma once

#include "event.h"
#include "gateway.h"

// SAs that one call looks at; with more, the next one goes on behind them.
#define PEERS_AT_ONCE 4096

// A genuine packet has come from where the peer was not before (EVENT_PEER_HEARD).
void peer_heard(struct gateway *g, const struct event *e, uint64_t now_ms);

// After a reload: SAs that are new follow peers that have been heard before, by SAs that are still
// there, or by those of the same policy in the snapshot before.
void peers_follow(struct gateway *g, const struct snapshot *before);

// The policy of another snapshot that has the name of number i of this one, mostly in its place;
// NULL if there is none.
const struct spd_policy *policy_namesake(
	const struct spd *other, const struct spd_policy *p, unsigned int i);

// Sends NAT-keepalives where nothing else was sent, and has SAs follow that could not for want of
// memory. To be called every 100 ms.
void peer_tick(struct gateway *g, uint64_t now_ms);
