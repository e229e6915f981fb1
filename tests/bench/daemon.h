// SPDX-License-Identifier: BSD-3-Clause
// The daemon's loop around the worker of a lane. It polls two ports and sends by them, as it does
// in the daemon; they use the replacement of ports (nic.h), which it calls like a driver. Each lane
// has one, on its thread.
#pragma once

#include "traffic.h"

struct daemon;

// For the gateway that the traffic's point is about, which has one of the directions out and in.
// The traffic stays the caller's. Ends the program if there is no memory.
struct daemon *daemon_new(const struct traffic *t);
void daemon_free(struct daemon *d);

// Lets the loop receive the batch, and returns the TSC cycles of all but its first, warm packets.
// *right: how many packets it sent, and are right if they are clear.
uint64_t daemon_run(struct daemon *d, uint32_t *right);
