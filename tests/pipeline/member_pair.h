// SPDX-License-Identifier: BSD-3-Clause
// Two members of a pair, each of them gateway A of site.h with a group of its addresses. The test
// carries the lines about flows between them, and plays the control thread.
#pragma once

#include "control.h"
#include "site_nat.h"

#define ROOM 65536 // octets of lines at once

struct member {
	struct gateway *g;
	struct control c;
};

extern struct member a, b; // a is active at first

// Milliseconds of a.
uint64_t pair_now(void);

// more: settings at top level.
void pair_begin(const char *more);
void pair_end(void);

// Sets the role of the group in each, and the role that each knows of the other one.
void roles_set(struct member *active, struct member *standby);

// Worker 0 of the table adopts waiting flows, and removes flows that are gone.
void worker_ticks(struct member *m);

void both_wait(unsigned int seconds);

// Reports all flows of one to the other, which adopts them.
void report(struct member *from, struct member *to);

void take_over(struct member *m, struct member *other);
