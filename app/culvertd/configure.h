// SPDX-License-Identifier: BSD-3-Clause
// Puts configurations to work: the first one, and others in its place while workers run. One that
// is refused changes nothing; one that is taken is in force for every packet that comes in after
// it has been published. Control thread.
#pragma once

#include <stdio.h>

#include "gateway.h"

// Builds what g->conf describes and publishes it, before workers run. Failures are logged. Returns
// 0, -EIO or -ENOMEM.
int configure_start(struct gateway *g);

// Reads the file of g->conf_path again and puts it in the place of g->conf. What is wrong with it
// is written to errors, one line each. Returns 0, -EINVAL if it is refused, or -EBUSY while workers
// may still see the one before the last.
int configure_reload(struct gateway *g, FILE *errors);

// Frees what was replaced when no worker can see it any more. Call it often.
void configure_tick(struct gateway *g);

// When workers have ended.
void configure_stop(struct gateway *g);
