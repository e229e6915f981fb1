// SPDX-License-Identifier: BSD-3-Clause
// Whether the hugepages that the configuration asks for are there. Control thread.
#pragma once

#include "conf.h"

// Megabytes that DPDK gets: the flow table takes its part of memory.size from the kernel itself.
static inline unsigned int hugepages_dpdk_mb(const struct conf *conf)
{
	return conf->memory_mb - conf->flow_memory_mb;
}

// Removes the files of the instance's hugepages, which give them back: those that DPDK leaves, to
// be attached to (capture), and those of a daemon that crashed. Who has become another user cannot;
// then the next start does. The instance must not be running. Returns how many places there are for
// such files: mounts of hugetlbfs.
unsigned int hugepages_remove(const struct conf *conf);

// For a configuration with hugepages: removes those of an earlier daemon and looks whether there
// are enough. Returns 0, or -EIO after logging what is missing and how to mend it.
int hugepages_check(const struct conf *conf);
