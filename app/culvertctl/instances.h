// SPDX-License-Identifier: BSD-3-Clause
// Where the daemons of this machine are found. culvertd runs with the DPDK file prefix
// "culvert-INSTANCE", so DPDK keeps its files, and the telemetry socket among them, in a folder of
// that name under its runtime folder. One thread.
#pragma once

#include <jansson.h>
#include <sys/un.h>

// DPDK's runtime folder, by DPDK's own rule (eal_create_runtime_dir): $RUNTIME_DIRECTORY/dpdk, else
// /var/run/dpdk for root and $XDG_RUNTIME_DIR/dpdk for others, else /tmp/dpdk. In static memory.
const char *instances_folder(void);

// What is in the folder of an instance.
#define INSTANCE_TELEMETRY "dpdk_telemetry.v2"
#define INSTANCE_CONTROL   "control"
#define INSTANCE_SHOW      "show" // for members of show_group

// A socket of an instance, running or not: the user's own, or root's of that name. Returns 0,
// -EINVAL (not a name: empty, or not all of [A-Za-z0-9_.-]) or -ENAMETOOLONG (the path does not fit
// into a socket address).
int instance_address(struct sockaddr_un *addr, const char *name, const char *file);

// The running instances in order of their names. *found becomes a new array of objects: instance,
// pid (null if it did not answer), state ("running", or why it did not answer), socket.
// Returns 0 or -errno of reading the folder; a missing folder is no error and no instances.
int instances_find(json_t **found);
