// SPDX-License-Identifier: BSD-3-Clause
// The network interfaces of the kernel that ports attach to, as they are before DPDK takes them.
// Control thread, at start.
#pragma once

#include <stdbool.h>

#include "conf.h"

// The device's argument iface= in name, which has room for IFNAMSIZ octets. False if there can be
// no interface of that name.
bool iface_name(char *name, const char *device);

// Checks the mtu of the existing interface that a port attaches to, and warns if it is down: both
// are its owner's to change. Returns 0 or, after a message, -EIO.
int iface_check(const struct conf_port *c, const char *name);

// Whether the interface that such a device attaches to is up and has a link.
bool iface_has_link(const char *device);

// Whether this process lacks a capability that network devices of the kernel ask for.
bool iface_not_permitted(void);

// Takes every port's interface or PCI device for this process until it ends, however it ends. Every
// failure is logged with its cause and remedy. Returns 0 or -EIO.
int iface_take(const struct conf *conf);
