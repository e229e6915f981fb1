// SPDX-License-Identifier: BSD-3-Clause
// Sequence numbers of a fleet. Each member sends with blocks of numbers of its own
// (number_block.h), so no two ever use a number twice, whatever etcd has, and of an own one nothing
// is used again that was reserved on the disk or claimed in etcd before. The owner of a group
// claims blocks for each SA: its bound in etcd, above which it uses and accepts no number. The next
// owner begins above the bound (RFC 4303 3.3.3) and accepts none below that of an inbound SA
// (3.4.3): the peer notices that the numbers leap, and leaves out its own (peer_takeover.h). If the
// owner has given the group up, the next one begins above the last number that was used. SAs of IKE
// are not in etcd: their keys are new at each member.
//
// In a record of the ledger, reported is the bound that this member has had in etcd, learnt the
// highest that others had, and left_out the number after which the SA, or its window, would begin.
// numbers.h moves an SA from one of its blocks to the next.
// Control thread, with the gateway's lock.
#pragma once

#include <stdio.h>

#include "control.h"

// Whether the owner needs other bounds in etcd. lines: how many SAs the value has.
bool fleet_numbers_due(struct control *c, const struct conf_group *g, unsigned int lines);

// Writes the lines of all SAs of a group. Returns how many. An owner's go on from where it is; who
// is about to become it begins above all others.
unsigned int fleet_numbers_write(struct control *c, const struct conf_group *g, FILE *out);

// Why the lines of a value are refused, one of these or another; NULL: they are good. own: this
// member has written them.
extern const char fleet_numbers_lack[];  // it has an SA that this member lacks
extern const char fleet_numbers_fewer[]; // this member has one more, or it was edited
const char *fleet_numbers_check(
	struct control *c, const struct conf_group *g, const char *lines, bool own);

// Before a member writes that it is the owner of a group that was given up: bounds of SAs whose
// peers will leap for that reach beyond it.
void fleet_numbers_expect_leaps(struct control *c, const struct conf_group *g);

// Takes the lines of a value that are good: of this member its bounds, up to which it may send. Of
// another: exact if it has given the group up.
void fleet_numbers_hold(struct control *c, const struct conf_group *g, const char *lines);
void fleet_numbers_learn(
	struct control *c, const struct conf_group *g, const char *lines, bool exact);

// Notes the bounds that this member had with another lease, without a right to use them.
void fleet_numbers_note(struct control *c, const struct conf_group *g, const char *lines);

// Before the group becomes active here: SAs begin above all others' numbers.
void fleet_numbers_begin(struct control *c, const struct conf_group *g);

// After the group has become standby here: the numbers up to its bounds are not used any more.
void fleet_numbers_end(struct control *c, const struct conf_group *g);

// Seconds for which the bounds last at the present rates; UINT64_MAX: for ever.
uint64_t fleet_numbers_last_s(const struct control *c, const struct conf_group *g);
