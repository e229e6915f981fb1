// SPDX-License-Identifier: BSD-3-Clause
// DPDK's environment, started from the configuration instead of from a command line. Control
// thread.
#pragma once

#include <stdbool.h>

#include "conf.h"

#define EAL_CONTROL_LCORE 0 // workers are lcores 1, 2, 3, ...

// Megabytes that DPDK gets: the flow table takes its part of memory.size from the kernel itself.
static inline unsigned int eal_memory_mb(const struct conf *conf)
{
	return conf->memory_mb - conf->flow_memory_mb;
}

// Starts the environment. Every failure is logged with its cause and the mend. Returns 0 or -EIO.
int eal_start(const struct conf *conf, bool verbose);

// Lets dpdk-dumpcap attach, and says how. For a configuration that allows capture. Returns 0, or
// -ENOMEM after logging it.
int eal_share(const struct conf *conf);

// Ends it and removes its files.
void eal_stop(const struct conf *conf);

// Between the two, what DPDK logs is kept back and shown only if that turns out to be of use.
void eal_log_begin(void);
void eal_log_end(bool show);

// Shows what was kept back of the start, once: that is when DPDK looks at PCI devices.
void eal_log_start_show(void);
