// SPDX-License-Identifier: BSD-3-Clause
// The network interfaces of the kernel that ports attach to, as they are before DPDK takes them.
// Control thread, at start.
#pragma once

#include <stdbool.h>

#include "conf.h"

// Whether the device attaches to an interface that is there already. That interface's mtu and state
// are its owner's: they are looked at, not changed.
bool iface_is_attached(const char *device);

// Whether the interface that such a device attaches to is up and has a link.
bool iface_has_link(const char *device);

// Whether this process lacks a capability that network devices of the kernel ask for.
bool iface_not_permitted(void);

// Takes every port's interface or PCI device for this process until it ends, however it ends, and
// looks whether the interface is there, up, and large enough. Every failure is logged with its
// cause and the mend. Returns 0 or -EIO.
int iface_check(const struct conf *conf);
