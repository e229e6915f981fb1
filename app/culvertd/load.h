// SPDX-License-Identifier: BSD-3-Clause
// Loads configurations: the first one at start, others on a thread of their own while workers run.
// With many SAs that takes longer than neighbours and keepalives can wait. Decisions about them are
// in configure.h of lib/control. Control thread, unless noted.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "gateway.h"
#include "requests.h"

// Builds and publishes the configuration g->control.conf, before workers run. Failures are logged.
// Returns 0, -EIO or -ENOMEM.
int load_first(struct gateway *g);

// For struct request_io: gateway is the struct gateway. Starts to make a configuration and to build
// its snapshot. Errors are written to errors, one line each, until load_finish() returns its
// result. new_keys: see state_keys_check(). back: to a configuration that ran before, see
// metrics_prepare(). Only while nothing is loaded and nothing retired. Returns 0 or -EAGAIN.
int load_begin(void *gateway, request_make *make, bool new_keys, bool back, FILE *errors);

// The result: 0 once the configuration has replaced g->control.conf, -EINVAL if it was refused.
// -EINPROGRESS until then: call it often.
int load_finish(void *gateway);

// Also for struct request_io: as reserve_sa_begin().
int load_sa_begin(void *gateway, struct sa *sa, bool new_keys);

// When no more requests are served: waits for a load, and discards it. Until then a change of roles
// is not in effect, so workers that were frozen would never end.
void load_stop(struct gateway *g);
