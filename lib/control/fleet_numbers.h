// SPDX-License-Identifier: BSD-3-Clause
// Sequence numbers of a fleet: the owner of a group has for each SA of it a bound in etcd, and uses
// no number above it; the next owner begins above the bound (RFC 4303 3.3.3) and accepts none below
// it (3.4.3). So two owners use no number twice, whatever they know of each other. SAs of IKE are
// left out: their keys are new at each member. In a record of the ledger, reported is the bound
// that this member has in etcd, learnt the highest that others had, and left_out the number after
// which this one would begin. Control thread, with the gateway's lock.
#pragma once

#include <stdio.h>

#include "control.h"

// Whether the owner needs other bounds in etcd. lines: how many SAs the value has; inbound: also
// for windows that have moved.
bool fleet_numbers_due(
	struct control *c, const struct conf_group *g, unsigned int lines, bool inbound);

// Writes the lines of all SAs of a group. Returns how many. An owner's go on from where it is; who
// is about to become it begins after all others.
unsigned int fleet_numbers_write(struct control *c, const struct conf_group *g, FILE *out);

// Why the lines of a value are refused; NULL: they are good. own: this member has written them.
const char *fleet_numbers_check(struct control *c, const char *lines, bool own);

// Takes the lines of a value that are good: of this member its bounds, up to which it may send. Of
// another: exact if it has given the group up.
void fleet_numbers_hold(struct control *c, const char *lines);
void fleet_numbers_learn(struct control *c, const char *lines, bool exact);

// Before the group becomes active here: SAs begin above all others' numbers.
void fleet_numbers_begin(struct control *c, const struct conf_group *g);

// After the group has become standby here: the numbers up to its bounds are not used any more.
void fleet_numbers_end(struct control *c, const struct conf_group *g);

// Seconds for which the bounds last at the present rates; UINT64_MAX: for ever.
uint64_t fleet_numbers_last_s(const struct control *c, const struct conf_group *g);
