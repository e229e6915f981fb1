// SPDX-License-Identifier: BSD-3-Clause
// A member of a pair that did not run for longer than pair.deadline: all its groups are standby
// until a command makes them active, because the other member may have taken over. deadline.h has
// the part of workers. Control thread.
#pragma once

#include "control.h"

// The control thread runs. Call it in work that takes longer than some milliseconds, and while the
// thread waits for another one: only that the daemon as a whole stood still is to count.
void frozen_renew(struct control *c);

// The same at the begin of each round, before anything else, with the gateway's lock.
void frozen_round(struct control *c);
