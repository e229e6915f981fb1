// SPDX-License-Identifier: BSD-3-Clause
// The channel to the other gateway of a pair, as the control thread has it: its start and end, the
// events member_up and member_down, and the configuration that the two compare. Nothing else
// follows from it here. Control thread.
#pragma once

#include "control.h"

// Makes the channel, if one is configured, before privileges are given up. Returns 0, or -errno
// after a message.
int member_start(struct control *c);

// Connects, from now on: the thread of the channel first calls confine(), which takes the
// privileges from it that it must not have, and returns 0 or -errno. Returns 0, or -errno after a
// message.
int member_connect(struct control *c, int (*confine)(void *arg), void *arg);

// Call every 100 ms or so, with the gateway's lock.
void member_tick(struct control *c, uint64_t now_ms);

void member_stop(struct control *c);
