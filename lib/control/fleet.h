// SPDX-License-Identifier: BSD-3-Clause
// A fleet: members with the same groups, of which etcd has who owns each, and the bounds of its
// sequence numbers (fleet_numbers.h). One key for a group, PREFIX/groups/NAME, is replaced by a
// transaction on its revision, and one for a member, PREFIX/members/NAME, ends with its lease; a
// group without an owner that has such a key is free. While etcd does not answer, nothing moves.
// Control thread, with the gateway's lock.
#pragma once

#include "control.h"

// Makes the client of etcd, if the configuration has a fleet, before privileges are given up.
// Returns 0, or -errno after a message.
int fleet_start(struct control *c);

// Connects, from now on: the thread of the client first calls confine(), as member_connect().
int fleet_connect(struct control *c, int (*confine)(void *arg), void *arg);

// Call it in each round of the control thread.
void fleet_tick(struct control *c, uint64_t now_ms);

// A command makes this member the owner of a group, or has it give the group up: it is asked for
// here, and done when etcd has agreed. False: there is no such group, or etcd does not answer;
// *why.
bool fleet_order(struct control *c, const char *name, enum conf_role role, const char **why);

// After workers have stopped: gives all groups up, and waits for that, for some seconds at most.
void fleet_stop(struct control *c);

// For lists. A member as etcd has it, the i-th; false: there are no more.
struct fleet_member {
	conf_name name;
	int64_t lease;
	char version[32];
};

bool fleet_member_at(const struct control *c, unsigned int i, struct fleet_member *m);

// Why etcd does not answer; "": it does.
const char *fleet_error(const struct control *c);
