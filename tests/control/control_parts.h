// SPDX-License-Identifier: BSD-3-Clause
// The tables, the snapshot and one worker beside a control thread, of a test or benchmark. The
// program may run the worker or not. Control thread.
#pragma once

#include "control.h"

// Makes all of it. c has io, conf with one worker, link addresses of its ports, and a pool; all
// else is zero. Ends the program on failure.
void control_parts_start(struct control *c);

// Frees all but the configuration.
void control_parts_stop(struct control *c);

// The snapshot of a configuration.
struct snapshot *control_parts_snapshot(const struct control *c, const struct conf *conf);
