// SPDX-License-Identifier: BSD-3-Clause
// State of the kernel's network interfaces: interfaces that devices of ports attach to, and TAPs
// that DPDK's drivers have made. A TAP that was moved to another network namespace still works, but
// its name and number are unknown here: only the driver's descriptor shows whether it exists. Any
// thread.
#pragma once

#include <stdbool.h>

// The argument iface= of a device in name, which has room for IFNAMSIZ octets. False if there can
// be no interface of that name.
bool iface_name(char *name, const char *device);

// Whether the interface that such a device attaches to is up and has a link.
bool iface_has_link(const char *device);

// The mtu of that interface; 0: there is none, or the device has none.
unsigned int iface_mtu(const char *device);

// The flags of an interface, IFF_*. False: there is none.
bool iface_flags(unsigned int *flags, const char *name);

// Carries out a command of ethtool's (linux/ethtool.h), which the answer replaces. False if the
// interface does not know it.
bool iface_ethtool(const char *name, void *command);

// Whether an interface is one of this driver of the kernel's.
bool iface_has_driver(const char *name, const char *driver);

// The descriptor by which a driver holds the TAP of this name, which stays the driver's. -1: there
// is no such TAP.
int tap_find(const char *name);

// Whether the interface of a descriptor from tap_find() still exists.
bool tap_exists(int fd);
