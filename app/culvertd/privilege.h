// SPDX-License-Identifier: BSD-3-Clause
// Privileges that a daemon gives up for good once its ports are open.
#pragma once

#include <sys/types.h>

#include "conf.h"

// Makes the kernel write no core of this process, whatever the limits: keys would be in it. A crash
// allows it when they are wiped (crash.h). Nor can other processes of its user read its memory.
// Control thread, before keys are read.
void privilege_forbid_cores(void);

// Locks memory, so that keys are never written to swap. Where that is not permitted and there is
// swap, logs a warning with the remedy. Control thread, before keys are read.
void privilege_lock_memory(void);

// Whether the configured user and the configured group exist. A missing one is logged, with the
// remedy. Returns 0 or -EIO. Control thread.
int privilege_names_check(const struct conf *conf);

// Whether the configured user can be become, and the configured group exists. A mistake is logged
// with its remedy. Returns 0 or -EIO. Control thread, before anything is started.
int privilege_check(const struct conf *conf);

// Becomes the configured user, if one is, with all threads, and gives up the capabilities of all
// threads but keeper, the one that keeps some (device_thread.h). The folders of DPDK's files and of
// state_dir become the user's. Returns 0, or -EIO after logging why not. Control thread, when all
// ports are open and before workers run.
int privilege_drop(const struct conf *conf, pid_t keeper);
