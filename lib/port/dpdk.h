// SPDX-License-Identifier: BSD-3-Clause
// DPDK's environment, started from the configuration instead of from a command line. Control
// thread.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "conf.h"

#define DPDK_CONTROL_LCORE 0 // workers are lcores 1, 2, 3, ...

// Whether another process has the files of this instance, and which: it is running. False also for
// who may not look into their folder, as root may.
bool dpdk_instance_held(const struct conf *conf, pid_t *by);

// Starts the environment. Every failure is logged with its cause and the remedy. Returns 0 or -EIO.
int dpdk_start(const struct conf *conf, bool verbose);

// Lets dpdk-dumpcap attach, and logs its command. For a configuration that allows capture. Returns
// 0, or -ENOMEM after logging it.
int dpdk_share(const struct conf *conf);

// Ends it and removes its files.
void dpdk_stop(const struct conf *conf);
