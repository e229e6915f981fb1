// SPDX-License-Identifier: BSD-3-Clause
// Loads configurations: the first one at start, others on a thread of their own while workers run.
// With many SAs that takes longer than neighbours and keepalives can wait. What is decided about
// them is in configure.h of lib/control. Control thread, if nothing else is said.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "gateway.h"

// Makes a configuration; running is the one that runs. Errors are written to errors, one
// line each. NULL: there is none to apply. On the loading thread.
typedef struct conf *load_make(const struct conf *running, FILE *errors);

// Builds and publishes what g->control.conf describes, before workers run. Failures are logged.
// Returns 0, -EIO or -ENOMEM.
int load_first(struct gateway *g);

// Starts to make a configuration and to build its snapshot. Errors are written to errors, one line
// each, until load_finish() returns its result. new_keys: see state_keys_check(). Only while
// nothing is loaded and nothing retired. Returns 0 or -EAGAIN.
int load_begin(struct gateway *g, load_make *make, bool new_keys, FILE *errors);

// The result: 0 once the configuration has replaced g->control.conf, -EINVAL if it was refused.
// -EINPROGRESS until then: call it often.
int load_finish(struct gateway *g);

// When workers have ended. Waits for a load, and discards it.
void load_stop(void);
