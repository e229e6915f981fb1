// SPDX-License-Identifier: BSD-3-Clause
// The lines of text that the two gateways of a pair exchange by the channel (member.h): reports of
// the numbers of SAs (numbers.h), "group NAME ROLE CHANGES MS", with how often the role has changed
// and how old it is, after all numbers that were used in it, and flows (member_flows.h). Every line
// is a state and is repeated, so nothing is lost with a connection. No line changes a role, but two
// active gateways end by it (role.h). Control thread, with the gateway's lock.
#pragma once

#include "control.h"

// Takes the lines of the other gateway, and sends changed ones, and a part of all others. Call it
// every 100 ms, and when a role has changed.
void member_lines_tick(struct control *c, uint64_t now_ms);

// Why the other gateway should not take an active group over now; NULL: it can, without loss.
const char *member_missing(struct control *c, const struct owned_group *g, uint64_t now_ms);

// Takes the lines that have been received. For how many milliseconds the other gateway may have
// used numbers of the group without a report; 0: it has reported that it is standby.
uint64_t member_silent_ms(struct control *c, const struct owned_group *g, uint64_t now_ms);
