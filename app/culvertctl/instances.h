// SPDX-License-Identifier: BSD-3-Clause
// Where the daemons of this machine are found. culvertd runs with the DPDK file prefix
// "culvert-INSTANCE", so DPDK keeps its files, and the telemetry socket among them, in a folder of
// that name under its runtime folder. A failure is printed on standard error, and ends the program.
// One thread.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <sys/un.h>

// Files in the folder of an instance.
#define INSTANCE_TELEMETRY "dpdk_telemetry.v2"
#define INSTANCE_CONTROL   "control"
#define INSTANCE_SHOW      "show" // for members of show_group

// A file of an instance, running or not: the user's own, or root's of that name. Returns 0, -EINVAL
// (this is not a name) or -ENAMETOOLONG (the path does not fit into a socket address).
int instance_file(struct sockaddr_un *addr, const char *name, const char *file);

// The same; without one the program ends.
void instance_address(struct sockaddr_un *addr, const char *instance, const char *file);

// The running instances in order of their names, a new array of objects: instance, pid (null if it
// did not answer), state ("running", or why it did not answer), socket.
json_t *instances_find(void);

// Prints that no daemon runs, and how to start one.
void instances_none(void);

// Prints the daemon's reason for refusing a request, and ends the program.
void instance_refused(const char *instance, const char *why) __attribute__((noreturn));

// The instance of that name, or if it is NULL the only one that runs.
const char *instance_choose(const char *name);
