// SPDX-License-Identifier: BSD-3-Clause
// What a daemon that has its ports open does not need any more, it gives up for good.
#pragma once

#include <stdint.h>

#include "conf.h"

// Has the kernel write no core of this process, whatever limits say: keys would be in it. A crash
// allows it when they are out of it (crash.h). Nor can others of its user look into it. Control
// thread, before keys are read.
void privilege_forbid_cores(void);

// Locks memory, so that keys are never written to swap. Where that is not permitted and there is
// swap, logs a warning with the remedy. Control thread, before keys are read.
void privilege_lock_memory(void);

// Whether the configured user and the configured group exist. Those that do not are logged, with
// the remedy. Returns 0 or -EIO. Control thread.
int privilege_names_check(const struct conf *conf);

// Whether the configured user can be become, and the configured group exists. What is wrong is
// logged with its remedy. Returns 0 or -EIO. Control thread, before anything is started.
int privilege_check(const struct conf *conf);

// Becomes the configured user, if one is, with all threads, and gives up the capabilities of all
// threads but the one that keeps some (below). The folders of DPDK's files and of state_dir become
// the user's. Returns 0, or -EIO after logging why not. Control thread, when all ports are open and
// before workers run.
int privilege_drop(const struct conf *conf);

// Gives up the calling thread's capabilities, for those who were not started by root or remain it.
// Returns 0 or -errno. A worker, when it begins.
int privilege_drop_thread(void);

// Capabilities that one thread keeps, in effect only where it raises them.
struct privilege_kept {
	uint64_t capabilities; // a bit for each
};

// Which ones the devices of the ports need to be opened again, and the kernel's routes by hosts
// behind ports to be changed. Any thread.
void privilege_kept_choose(struct privilege_kept *kept, const struct conf *conf);

// Called by the one thread that keeps them: before privilege_drop(), which would take them; then to
// give up the others, and after privilege_kept_raise(), which raises those that the devices of a
// port need, or privilege_kept_raise_routes(). All return 0 or -errno.
int privilege_kept_begin(void);
int privilege_kept_lower(const struct privilege_kept *kept);
int privilege_kept_raise(
	const struct privilege_kept *kept, const struct conf *conf, const struct conf_port *c);
int privilege_kept_raise_routes(const struct privilege_kept *kept);
