// SPDX-License-Identifier: BSD-3-Clause
// TAP interfaces that DPDK's drivers have made. One that was moved to another network namespace
// still works, but its name and number are unknown here: only the driver's descriptor shows whether
// it exists. Any thread.
#pragma once

#include <stdbool.h>

// The descriptor by which a driver holds the TAP of this name, which stays the driver's. -1: there
// is no such TAP.
int tap_find(const char *name);

// Whether the interface of a descriptor from tap_find() still exists.
bool tap_exists(int fd);
