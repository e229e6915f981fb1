// SPDX-License-Identifier: BSD-3-Clause
// From a device named in the configuration to an ethdev that is not configured yet, and back. The
// thread that opens the device.
#pragma once

#include <stdint.h>

// Has DPDK find or make the device. Returns 0 or -errno.
int device_probe(uint16_t *id, const char *device);

// Stops and closes the ethdev; with the last one of a device, removes that.
void device_close(uint16_t id);
