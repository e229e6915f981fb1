// SPDX-License-Identifier: BSD-3-Clause
// Flows that the two gateways of a pair report to each other (flow_line.h), so that connections
// continue after a takeover. A gateway reports each that has to do with its active groups, in
// scans of the table, as many in each call as there is room for; after each scan follows the line
// "flows". The other one adopts each that by its own configuration has to do with a group which
// is standby here and active there. Control thread, with the gateway's lock.
#pragma once

#include "control.h"

// Sends a line of len octets; it has NUL after it. False: it cannot.
typedef bool member_line_fn(void *arg, const char *line, size_t len);

// Before the first lines of a connection, and after a role has changed: all flows are due.
void member_flows_begin(struct control *c);

// Sends lines of at most that many octets together, with their ends. Call it every 100 ms.
void member_flows_send(
	struct control *c, uint64_t now_ms, size_t room, member_line_fn *send, void *arg);

// Takes such a line. False: it is none.
bool member_flows_learn(struct control *c, const char *line);
