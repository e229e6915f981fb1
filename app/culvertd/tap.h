// SPDX-License-Identifier: BSD-3-Clause
// TAP interfaces that DPDK's drivers made for this process. The driver's descriptor tells of an
// interface wherever that is, while its name and number are unknown as soon as it has been moved to
// another network namespace. Any thread.
#pragma once

#include <stdbool.h>

// The descriptor by which a driver holds the TAP of this name, which stays the driver's. -1: there
// is no such TAP.
int tap_find(const char *name);

// Whether the interface of a descriptor from tap_find() still exists.
bool tap_exists(int fd);
