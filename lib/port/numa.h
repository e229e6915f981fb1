// SPDX-License-Identifier: BSD-3-Clause
// Machines with several NUMA nodes: a node's memory is near to its own CPUs and cards, and a packet
// that crosses between nodes costs most of a worker's time for it. One gateway is for one node. The
// functions take the folder where sysfs is mounted, /sys. Control thread, at start.
#pragma once

#include "conf.h"

#define NUMA_NODES_MAX 32 // as many as DPDK has

// The node that the gateway is for: that of most of its cards; without cards that of most workers.
// -1: the machine has one node, or does not report any.
int numa_node(const struct conf *conf, const char *sys);

// Warns of each card and each CPU that is on another node than the gateway.
void numa_check(const struct conf *conf, const char *sys);
