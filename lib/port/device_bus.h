// SPDX-License-Identifier: BSD-3-Clause
// State of a device in sysfs, and the driver that the kernel has given it. Any thread.
#pragma once

#include <stdbool.h>

// Whether the device is on its bus now; of a virtual one: true.
bool device_is_on_bus(const char *device);

// Whether a network card has a driver of the kernel's that gives it to DPDK; of other devices:
// true.
bool device_is_bound(const char *device);

// Whether the device is no card that works with physical addresses, as one without an IOMMU does.
bool device_is_confined(const char *device);
