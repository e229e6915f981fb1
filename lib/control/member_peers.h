// SPDX-License-Identifier: BSD-3-Clause
// Endpoints of peers that move (RFC 3948), which the active member of a pair learns from packets,
// reported to the standby, so that it sends to the right place from its first packet on. Control
// thread, with the gateway's lock.
#pragma once

#include "control.h"

#define MEMBER_PEER_LINE_MAX 100

// Writes a line for the other member about where the packets of an SA come from, if that has
// changed since a time, or always: "peer", the name of the SA (member_sa.h), address and port.
// Returns its length without a newline; 0: there is nothing to report.
unsigned int member_peer_report(
	const struct sa *sa, bool always, uint64_t since_ms, char line[MEMBER_PEER_LINE_MAX]);

// Takes such a line from the other member; does nothing for SAs that this one receives packets of
// itself. False: it is none of these lines.
bool member_peer_learn(struct control *c, const char *line, uint64_t now_ms);
