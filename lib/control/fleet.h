// SPDX-License-Identifier: BSD-3-Clause
// A fleet: members with the same groups, of which etcd has the owner of each, and the bounds of its
// sequence numbers (fleet_numbers.h). One key for a group, PREFIX/groups/NAME, is replaced by a
// transaction on its revision, and one for a member, PREFIX/members/NUMBER, ends with its lease; a
// group without an owner that has such a key is free. While etcd does not answer, nothing moves.
// Two owners at once use different numbers; one that reads another valid value than its own is
// silent.
// Control thread, with the gateway's lock.
#pragma once

#include <stdio.h>

#include "control.h"
#include "message.h"

// Makes the client of etcd, if the configuration has a fleet, before privileges are given up.
// Returns 0, or -errno after a message.
int fleet_start(struct control *c);

// Connects, from now on: the thread of the client first calls confine(), as member_connect().
int fleet_connect(struct control *c, int (*confine)(void *arg), void *arg);

// Call it in each round of the control thread.
void fleet_tick(struct control *c, uint64_t now_ms);

// Keeps the lease, while the control thread waits for something else: nothing moves.
void fleet_keep(struct control *c, uint64_t now_ms);

// A command makes this member the owner of a group, or has it give the group up: it is asked for
// here, and done when etcd has agreed. A group becomes standby here at once, also without etcd.
// False: there is no such group, or it cannot be taken; *why.
bool fleet_order(struct control *c, const char *name, enum conf_role role, const char **why);

// A command moves a group of this member to another one, without loss, and as soon as one is
// ready; it stays active until then. False: *why.
bool fleet_drain_group(struct control *c, const char *name, const char **why);

// A command moves all groups so, one by one, and lets this member take none any more, until drains
// is false; other members see it. False: this gateway is of no fleet.
bool fleet_drain(struct control *c, bool drains);

// The same at once, of a member that can forward nothing: all groups that others can take, without
// waiting for these.
bool fleet_drain_now(struct control *c);

// For lists: whether a group that is to leave "moves" or "waits"; "": it is not to leave.
const char *fleet_drain_state(const struct control *c, const struct owned_group *g);

// Whether this member drains.
bool fleet_drains(const struct control *c);

// Whether this member owns no group that another configuration lacks: nobody would give it up. A
// line to errors for each.
bool fleet_keeps_groups(struct control *c, const struct conf *conf, FILE *errors);

// Another station has announced an address: whether this member does not defend it, because it is
// cut off from etcd, and the station may be the next owner of its group. The group becomes standby
// here when the lease has ended without an answer.
bool fleet_yields(struct control *c, const struct ip_addr *addr, uint64_t now_ms);

// After workers have stopped: gives all groups up, and waits for that, for some seconds at most.
void fleet_stop(struct control *c);

// For lists. A member as etcd has it, the i-th; false: there are no more.
struct fleet_member {
	unsigned int number; // 0: it is none of these
	conf_name name;
	int64_t lease;
	char version[32];
	unsigned int weight; // 0: its value cannot be read
	bool drains;
	char config[PAIR_CONFIG_MAX]; // digests of its configuration; "": they are not known
};

bool fleet_member_at(const struct control *c, unsigned int i, struct fleet_member *m);

// Why etcd does not answer; "": it does.
const char *fleet_error(const struct control *c);
